"""Closing a run: its end is told to the store first, to the client second.

Source: docs/contract.md, "What goes on the wire" and "Stop".
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ag_ui.core import TokenUsage
from pydantic import ValidationError

from agui_bridge.engine.auto_resume import question_in_words
from agui_bridge.engine.endings import (
    Ending,
    Failed,
    Finished,
    Lost,
    Stopped,
    Undelivered,
)
from agui_bridge.engine.questions import raise_interrupts
from agui_bridge.errors import (
    AdapterError,
    Fenced,
    ProtocolViolation,
    StoreUnavailable,
)
from agui_bridge.protocol.client_messages import repair
from agui_bridge.protocol.history import StoredMessage
from agui_bridge.protocol.json_values import (
    MAX_OUTPUT_DEPTH,
    WireEvent,
    clean,
    find_forbidden,
    same_json,
)
from agui_bridge.protocol.records import Batch, Interrupt, Json, ThreadRecord, ToolCall
from agui_bridge.protocol.run_events import CANCELLED, SUCCESS, interrupt_outcome
from agui_bridge.protocol.transitions import Change, RunEnd, end_run, reopen
from agui_bridge.protocol.wire_events import whole_call

if TYPE_CHECKING:
    from agui_bridge.adapters import Pause
    from agui_bridge.engine.execution import Execution

__all__ = ["close_run"]

logger = logging.getLogger("agui_bridge")


_UNANSWERED: Mapping[type, str] = {
    Finished: "No result was reported for this tool call.",
    Stopped: "The run was stopped; this tool call was not executed.",
    Failed: "The run failed; whether this tool call was executed is unknown.",
}
_STOPPED_AMID = "The run was stopped; whether this tool call was executed is unknown."


async def close_run(run: Execution, ending: Ending) -> Ending:
    """Store the end of a run, then tell the client.

    Returns:
        How it ended in truth: storing it may have failed.
    """
    try:
        try:
            ending = await _close(run, ending)
        except (Fenced, StoreUnavailable):
            raise
        except Exception as error:
            # What an adapter hands over last may be anything; the thread must not stay running.
            code = error.code if isinstance(error, AdapterError) else "AGENT_ERROR"
            logger.exception("the end of the run is refused")
            run.pause, run.handoff, run.run.usage, run.run.result = None, None, [], None
            ending = await _close(run, Failed(code))
    except Fenced:
        ending = Lost()
        _tell_lost(run, ending)
    except StoreUnavailable:
        logger.error("the end of the run could not be stored: the store is gone")
        ending = Lost("STORE_UNAVAILABLE")
        _tell_lost(run, ending)
    finally:
        # An agent that outlives its run finds its lease over.
        run.owner.lost = True
        run.over.set()
    run.stream.pipe.close()
    return ending


async def _close(run: Execution, ending: Ending) -> Ending:
    if isinstance(ending, Lost):
        _tell_lost(run, ending)
    elif isinstance(ending, Undelivered):
        await _reopen(run, ending)
    elif isinstance(ending, Finished) and run.pause is not None:
        await _interrupt(run, run.pause)
    else:
        await _end(run, ending)
    return ending


async def _interrupt(run: Execution, pause: Pause) -> None:
    """End with an interrupt: the questions are stored before the client sees them."""
    interrupts = raise_interrupts(
        pause.asks,
        batch := run.mint(),
        capabilities=run.agent.adapter.capabilities,
        settings=run.agent.settings,
        now=run.owner.time.now(),
        mint=run.mint,
    )
    # All that may be refused is made before the commit: after it, only what is stored is told.
    usage, result = _usage(run), clean(run.run.result)
    outcome = interrupt_outcome(interrupts)
    continuation = _plain(pause.continuation)
    for item in question_in_words(run.agent, run.run, interrupts, run.history.messages):
        await _emit_all(run, run.lifecycle.feed(item))
    await _show_calls(run, interrupts)
    asking: dict[str, list[str]] = {}
    for interrupt in interrupts:
        if interrupt.subagent_run_id is not None:
            asking.setdefault(interrupt.subagent_run_id, []).append(interrupt.id)
    await _emit_all(run, run.lifecycle.suspend(asking))
    end = RunEnd(
        "finished",
        batch=Batch(batch, continuation, run.run.trace_headers.get("traceparent"), run.run.run_id),
        interrupts=interrupts,
        pending_calls=_still_pending(run, pause.frontend_calls),
        handoff=_handoff(run),
    )
    await _commit_end(run, end)
    run.stream.snapshots(run.history.state, run.history.messages)
    run.stream.finish(outcome, result=result, usage=usage)


async def _show_calls(run: Execution, interrupts: Sequence[Interrupt]) -> None:
    """Emit the calls that are asked about, unless the framework did it itself."""
    for interrupt in interrupts:
        call = interrupt.tool_call
        if call is None:
            continue
        owner = interrupt.subagent_run_id
        arguments = json.dumps(call.args, ensure_ascii=False, separators=(",", ":"))
        shown = _shown(run, call.id)
        if shown is not None:
            _check_shown(shown, call)
        else:
            for item in whole_call(call.id, call.name, arguments, owner=owner):
                await _emit_all(run, run.lifecycle.feed(item))


def _shown(run: Execution, call_id: str) -> Mapping[str, Json] | None:
    """The function of a call that the conversation has, as the person sees it."""
    for message in reversed(run.history.messages):
        for call in message.get("toolCalls") or ():
            if call["id"] == call_id:
                function: Mapping[str, Json] = call["function"]
                return function
    return None


def _check_shown(shown: Mapping[str, Json], call: ToolCall) -> None:
    """What was shown is what runs: a question may not pin another tool or other arguments."""
    try:
        arguments = json.loads(shown["arguments"] or "{}")
    except ValueError:
        arguments = None
    if shown["name"] != call.name or not same_json(arguments, call.args):
        raise ProtocolViolation(
            f"the question about tool call {call.id} differs from the call that was shown"
        )


async def _end(run: Execution, ending: Finished | Stopped | Failed) -> None:
    """End with success, cancelled or an error."""
    # An agent that ended before it said anything has the answers all the same.
    await run.deliver()
    usage, result = _usage(run), clean(run.run.result)
    lifecycle = run.lifecycle
    truncated: list[StoredMessage] = []
    if isinstance(ending, Stopped):
        truncated = run.history.truncate_open()
        run.partial = _partial_text(truncated)
        closing = lifecycle.cancel()
    else:
        closing = lifecycle.finish() if isinstance(ending, Finished) else lifecycle.fail()
    await _emit_all(run, closing)
    fresh: tuple[str, ...] = ()
    if isinstance(ending, Finished):
        frontend = {tool.name for tool in run.run.input.tools or ()}
        declared = set(run.handoff.tool_call_ids) if run.handoff is not None else set()
        fresh = tuple(
            call.id for call in lifecycle.unanswered if call.id in declared or call.name in frontend
        )
    pending = _still_pending(run, fresh)
    dangling = _answer_dangling(run, ending, (*pending, *_left_to_handoff(run, ending)))
    code = ending.code if isinstance(ending, Failed) else None
    end = RunEnd(
        _OUTCOME[type(ending)],
        code=code,
        pending_calls=pending,
        handoff=_handoff(run),
        unheard=_unheard(run),
    )
    await _commit_end(run, end)
    for event in dangling:
        run.stream.send(event)
    if run.resumed:
        run.stream.snapshots(run.history.state, run.history.messages)
    if isinstance(ending, Failed):
        run.stream.fail(ending.code, ending.message, usage=usage)
    elif isinstance(ending, Stopped):
        run.stream.finish(CANCELLED, usage=usage)
    else:
        outcome = {**SUCCESS, "pendingToolCallIds": list(fresh)} if fresh else SUCCESS
        run.stream.finish(outcome, result=result, usage=usage)


def _left_to_handoff(run: Execution, ending: Finished | Stopped | Failed) -> Sequence[str]:
    """Calls whose results come once the application has returned its own, so none is made up."""
    if run.handoff is not None and isinstance(ending, Finished):
        return run.approved_calls if run.handoff.continuation is not None else ()
    return run.carried if run.run.handoff is None and _handoff(run) is not None else ()


def _answer_dangling(
    run: Execution, ending: Finished | Stopped | Failed, pending: Sequence[str]
) -> list[WireEvent]:
    """Answer the calls that nothing answered; an approved one may have run when it stopped."""
    reason = _UNANSWERED[type(ending)]
    reasons = [(reason, pending)]
    if isinstance(ending, Stopped) and (approved := set(run.approved_calls)):
        others = [call["id"] for m in run.history.messages for call in m.get("toolCalls") or ()]
        reasons.insert(0, (_STOPPED_AMID, [call for call in others if call not in approved]))
    events: list[WireEvent] = []
    for reason, excepted in reasons:
        answers = repair(run.history.messages, pending=excepted, reason=reason, mint=run.mint)
        for event in answers:
            run.history.apply(event)
        events += answers
    return events


_OUTCOME: Mapping[type, Any] = {Finished: "finished", Stopped: "stopped", Failed: "failed"}


async def _reopen(run: Execution, ending: Undelivered) -> None:
    """Nothing reached the framework: the same questions stand, then the error."""
    claimed = list(run.claimed.values())
    reopened: list[Interrupt] = []
    unheard = _unheard(run)

    def build(record: ThreadRecord, now: float) -> Change:
        change = reopen(record, claimed, unheard=unheard, now=now)
        reopened[:] = change.interrupts
        return change

    await run.owner.commit(build)
    now = run.owner.time.now()
    waiting = [ask for ask in reopened if not ask.expired(now)]
    run.stream.snapshots(run.history.state, run.history.messages)
    run.stream.finish(interrupt_outcome(waiting) if waiting else SUCCESS)
    run.stream.fail("UPSTREAM_ERROR", ending.message or None)


def _unheard(run: Execution) -> tuple[str, ...]:
    """Ids of the messages that the agent was to hear, and did not."""
    return () if run.heard else tuple(message["id"] for message in run.run.raw_new_messages)


def _tell_lost(run: Execution, ending: Lost) -> None:
    for event in run.lifecycle.fail():
        run.stream.send(event)
    run.stream.fail(ending.code)


async def _emit_all(run: Execution, events: Sequence[WireEvent]) -> None:
    for event in events:
        await run.emit(event)


async def _commit_end(run: Execution, end: RunEnd) -> None:
    expired = [i for i, d in run.decisions.items() if getattr(d, "cause", None) == "expired"]
    messages: list[StoredMessage] = []

    def build(record: ThreadRecord, now: float) -> Change:
        messages.extend(run.history.take_dirty(include_open=True))
        return end_run(
            record,
            list(run.claimed.values()),
            end,
            messages=messages,
            superseded=run.history.take_dropped(),
            state=run.history.state,
            told=run.run.closed,
            expired=expired,
            now=now,
        )

    await run.owner.commit(build)


def _still_pending(run: Execution, fresh: Sequence[str]) -> tuple[str, ...]:
    """Frontend calls that wait for the application: from earlier runs, and of this one."""
    answered = {m["toolCallId"] for m in run.history.messages if m["role"] == "tool"}
    earlier = [call for call in run.owner.record.pending_calls if call not in answered]
    return (*earlier, *(call for call in fresh if call not in earlier))


def _handoff(run: Execution) -> Json:
    """What the adapter needs with the application's results: this run's, or a waiting one's."""
    if run.handoff is not None:
        return _plain(run.handoff.continuation)
    record = run.owner.record
    return record.handoff if run.run.handoff is None and _still_pending(run, ()) else None


def _partial_text(messages: Sequence[StoredMessage]) -> str | None:
    texts = [m.message.get("content") for m in messages if m.message["role"] == "assistant"]
    return "".join(text for text in texts if isinstance(text, str)) or None


def _usage(run: Execution) -> list[Json]:
    """Token usage as clients accept it; an entry of another shape is left out."""
    usage: list[Json] = []
    for entry in run.run.usage:
        try:
            known = TokenUsage.model_validate(clean(entry))
        except ValidationError:
            logger.warning("a usage entry was left out: it is malformed")
        else:
            usage.append(known.model_dump(mode="json", by_alias=True))
    return usage


def _plain(continuation: Json) -> Json:
    """A continuation comes back as it went: what JSON can't say is refused."""
    try:
        json.dumps(continuation, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ProtocolViolation(f"a continuation must be plain JSON: {error}") from None
    fault = find_forbidden(continuation, max_depth=MAX_OUTPUT_DEPTH)
    if fault is not None and "nested" in fault:
        raise ProtocolViolation(f"a continuation must be plain JSON: {fault[-80:]}")
    return clean(continuation)
