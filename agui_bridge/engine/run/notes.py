"""What an adapter notes for later, as it is stored: continuations, memos, work that it leaves."""

from __future__ import annotations

import json
import logging
from typing import Final

from agui_bridge.adapters import Run
from agui_bridge.engine.input.submission import Agent
from agui_bridge.errors import ProtocolViolation
from agui_bridge.protocol.json_values import MAX_OUTPUT_DEPTH, clean, find_forbidden
from agui_bridge.protocol.threads.record_parts import Watch
from agui_bridge.protocol.threads.records import Json, ThreadRecord

logger: Final = logging.getLogger("agui_bridge")


def continuation_of(agent: Agent, continuation: Json) -> Json:
    """What an adapter keeps for a pause or a handoff.

    Raises:
        ProtocolViolation: it is no plain JSON, or too much.
    """
    kept = _plain_json(continuation)
    check_size(agent, kept)
    return kept


def check_size(agent: Agent, continuation: Json) -> None:
    """Refuse a continuation, plain JSON, that is too much.

    Raises:
        ProtocolViolation: it is.
    """
    size, most = size_of(continuation), agent.settings.max_continuation_bytes
    if size > most:
        raise ProtocolViolation(
            f"a continuation takes {size} bytes as JSON; at most {most} are allowed "
            "(max_continuation_bytes)"
        )


def memo_of(agent: Agent, run: Run) -> Json:
    """What the adapter noted for its next run; nothing where that is no JSON, or too much.

    What the run has done stays done: it does not fail over its note.
    """
    if run.memo is None:
        return None
    most = agent.settings.max_memo_bytes
    try:
        memo = _plain_json(run.memo)
    except ProtocolViolation:
        logger.warning("the adapter's memo is left out: it is no plain JSON")
        return None
    if (size := size_of(memo)) > most:
        logger.error(
            "the memo of agent %r is left out, and its next run on thread %r has none: it "
            "takes %d bytes as JSON; at most %d are kept (max_memo_bytes)",
            *(run.agent, run.thread_id, size, most),
        )
        return None
    return memo


def watch_of(agent: Agent, run: Run, record: ThreadRecord, now: float) -> Watch | None:
    """Who looks after the work that a run leaves; nobody where its note can't be kept.

    Args:
        agent: whose run it is.
        run: with its note.
        record: the thread, while it runs.
        now: the store's time.
    """
    left = None
    if run.left is None:
        return None
    try:
        if not agent.adapter.capabilities.looks:
            raise ProtocolViolation("the adapter's capabilities lack `looks`")
        left = continuation_of(agent, run.left)
    except ProtocolViolation as error:
        logger.error("agent %r: nobody looks after the work it left: %s", run.agent, error)
    return Watch.after(record.watch, left, record.askers, now, looked=run.looks)


def size_of(value: Json) -> int:
    """Bytes that a value takes as JSON, in ASCII."""
    return len(json.dumps(value, separators=(",", ":")))


def _plain_json(continuation: Json) -> Json:
    """A continuation comes back as it went: what JSON can't say is refused."""
    try:
        json.dumps(continuation, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ProtocolViolation(f"a continuation must be plain JSON: {error}") from None
    fault = find_forbidden(continuation, max_depth=MAX_OUTPUT_DEPTH)
    if fault is not None and "nested" in fault:
        raise ProtocolViolation(f"a continuation must be plain JSON: {fault[-80:]}")
    return clean(continuation)
