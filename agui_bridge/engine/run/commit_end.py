"""What the end of every run writes, whatever it came to."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ag_ui.core import TokenUsage
from pydantic import ValidationError

from agui_bridge.errors import ProtocolViolation
from agui_bridge.frozen import replace
from agui_bridge.protocol.contract.end_transitions import FinalWrite, end_run
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.json_values import MAX_OUTPUT_DEPTH, WireEvent, clean, find_forbidden
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.kept import Kept
from agui_bridge.protocol.threads.records import Json, ThreadRecord

if TYPE_CHECKING:
    from agui_bridge.engine.run.execution import Execution

__all__ = [
    "commit_end",
    "continuation_of",
    "emit_all",
    "kept_result",
    "memo_of",
    "plain_json",
    "still_pending",
    "usage_of",
    "waiting_handoff",
]

logger: Final = logging.getLogger("agui_bridge")


async def commit_end(execution: Execution, end: FinalWrite) -> None:
    """Store how a run ended, with all that it said and that is not stored yet.

    Raises:
        Fenced: the lease is over.
        StoreUnavailable: the store did not answer in time.
    """
    expired = [i for i, d in execution.decisions.items() if getattr(d, "cause", None) == "expired"]
    messages: list[StoredMessage] = []

    history = execution.history
    if end.outcome == "finished":
        end = replace(end, kept=Kept.of(history.calls, history.last_position))

    def build(record: ThreadRecord, now: float) -> Change:
        messages.extend(history.take_dirty(include_open=True))
        return end_run(
            record,
            list(execution.claimed.values()),
            end,
            messages=messages,
            superseded=history.take_dropped(),
            state=history.state,
            told=execution.run.closed,
            expired=expired,
            now=now,
        )

    await execution.owner.commit(build)


async def emit_all(execution: Execution, events: Sequence[WireEvent]) -> None:
    """Emit events one after the other."""
    for event in events:
        await execution.emit(event)


def still_pending(execution: Execution, fresh: Sequence[str]) -> tuple[str, ...]:
    """Frontend calls that wait for the application: from earlier runs, and of this one."""
    answered = execution.history.calls.answered
    earlier = [call for call in execution.owner.record.pending_calls if call not in answered]
    return (*earlier, *(call for call in fresh if call not in earlier))


def waiting_handoff(execution: Execution) -> Json:
    """What the adapter needs with the application's results: this run's, or a waiting one's."""
    if execution.handoff is not None:
        return continuation_of(execution, execution.handoff.continuation)
    if execution.run.handoff is not None or not still_pending(execution, ()):
        return None
    return execution.owner.record.handoff


def usage_of(execution: Execution) -> list[Json]:
    """Token usage as clients accept it; an entry of another shape is left out."""
    usage: list[Json] = []
    for entry in execution.run.usage:
        try:
            known = TokenUsage.model_validate(clean(entry))
        except ValidationError:
            logger.warning("a usage entry was left out: it is malformed")
        else:
            usage.append(known.model_dump(mode="json", by_alias=True))
    return usage


def memo_of(execution: Execution) -> Json:
    """What the adapter noted for its next run; nothing where that is no JSON, or too much.

    What the run has done stays done: it does not fail over its note.
    """
    run = execution.run
    if run.memo is None:
        return None
    try:
        memo = plain_json(run.memo)
    except ProtocolViolation:
        logger.warning("the adapter's memo is left out: it is no plain JSON")
        return None
    most, size = (
        execution.agent.settings.max_memo_bytes,
        len(json.dumps(memo, separators=(",", ":"))),
    )
    if size > most:
        logger.error(
            "the memo of agent %r is left out, and its next run on thread %r has none: it takes "
            "%d bytes as JSON; at most %d are kept (max_memo_bytes)",
            *(run.agent, run.thread_id, size, most),
        )
        return None
    return memo


def kept_result(execution: Execution, result: Json) -> Json:
    """A run's result as it is stored with its end; nothing where that is too much.

    What the run has done stays done: it does not fail over its result, which is told all the same.

    Args:
        execution: the run.
        result: what is told.
    """
    if result is None:
        return None
    most, size = (
        execution.agent.settings.max_result_bytes,
        len(json.dumps(result, separators=(",", ":"))),
    )
    if size <= most:
        return result
    logger.warning(
        "the result of agent %r on thread %r is told once and not kept: it takes %d bytes as JSON; "
        "at most %d are kept (max_result_bytes)",
        *(execution.run.agent, execution.run.thread_id, size, most),
    )
    return None


def continuation_of(execution: Execution, continuation: Json) -> Json:
    """What an adapter keeps for a pause or a handoff, as it is stored.

    Raises:
        ProtocolViolation: it is no plain JSON, or too much.
    """
    kept = plain_json(continuation)
    most = execution.agent.settings.max_continuation_bytes
    size = len(json.dumps(kept, separators=(",", ":")))
    if size > most:
        raise ProtocolViolation(
            f"a continuation takes {size} bytes as JSON; at most {most} are allowed "
            "(max_continuation_bytes)"
        )
    return kept


def plain_json(continuation: Json) -> Json:
    """A continuation comes back as it went: what JSON can't say is refused."""
    try:
        json.dumps(continuation, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ProtocolViolation(f"a continuation must be plain JSON: {error}") from None
    fault = find_forbidden(continuation, max_depth=MAX_OUTPUT_DEPTH)
    if fault is not None and "nested" in fault:
        raise ProtocolViolation(f"a continuation must be plain JSON: {fault[-80:]}")
    return clean(continuation)
