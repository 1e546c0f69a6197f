"""Closing a run: its end is told to the store first, to the client second.

How it goes, in this order, whatever the ending: what is open is closed with events; the calls that
nothing answered get a sentence; one commit writes all of it and makes the thread idle (or
interrupted: `pausing`); only then the client is told. A commit that fails makes the run a lost one.

Source: docs/contract.md, "What goes on the wire" and "Stop".
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from agui_bridge.approvals import ApprovalsFailed
from agui_bridge.engine.input.held_context import context_of
from agui_bridge.engine.run.commit_end import (
    commit_end,
    emit_all,
    kept_result,
    memo_of,
    still_pending,
    usage_of,
    waiting_handoff,
)
from agui_bridge.engine.run.decided_calls import take_edits_back
from agui_bridge.engine.run.pausing import pause_run
from agui_bridge.errors import (
    AdapterError,
    Fenced,
    NotReplicated,
    OutcomeUnknown,
    StoreUnavailable,
)
from agui_bridge.frozen import replace
from agui_bridge.protocol.answers.unanswered_calls import answer_calls
from agui_bridge.protocol.answers.unexecuted import (
    DANGLING,
    FAILED,
    FAILED_AMID,
    LOST,
    STOPPED,
    STOPPED_AMID,
    UNREPORTED,
)
from agui_bridge.protocol.contract.end_transitions import FinalWrite, reopen
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.json_values import WireEvent, clean
from agui_bridge.protocol.lifecycle.lifecycle import Lifecycle
from agui_bridge.protocol.own_metadata import own_of, with_own_member
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.records import Interrupt, InterruptStatus, ThreadRecord
from agui_bridge.protocol.threads.run_ends import (
    Ending,
    Failed,
    Finished,
    Lost,
    Stopped,
    Undelivered,
)
from agui_bridge.protocol.wire.run_events import CANCELLED, SUCCESS, interrupt_outcome

if TYPE_CHECKING:
    from agui_bridge.engine.run.execution import Execution

__all__ = ["close_run"]

logger: Final = logging.getLogger("agui_bridge")


async def close_run(execution: Execution, ending: Ending) -> Ending:
    """Store the end of a run, then tell the client.

    Returns:
        How it really ended; storing the end may have failed.
    """
    try:
        try:
            ending = await _close(execution, ending)
        except (Fenced, StoreUnavailable):
            raise
        except Exception as error:
            # What an adapter hands over last may be anything; the thread must not stay running.
            code = error.code if isinstance(error, AdapterError) else "AGENT_ERROR"
            logger.exception("the end of the run is refused")
            execution.pause = execution.handoff = None
            execution.run.usage, execution.run.result = [], None
            # Whose rule is wrong is not to be looked for in the agent.
            told = str(error) if isinstance(error, ApprovalsFailed) else ""
            ending = await _close(execution, Failed(code, told))
    except Fenced:
        ending = Lost()
        await _lose(execution, ending)
    except NotReplicated as error:
        logger.error("the end of the run may be lost in a failover: %s", error)
        ending = Lost()
        _tell_lost(execution, ending)
    except StoreUnavailable:
        logger.error("the end of the run could not be stored: the store is gone")
        ending = Lost("STORE_UNAVAILABLE")
        _tell_lost(execution, ending)
    finally:
        # An agent that outlives its run finds its lease over.
        execution.owner.lost = True
        execution.over.set()
    if execution.goes_on is None:
        execution.stream.pipe.close()
    return ending


async def _close(execution: Execution, ending: Ending) -> Ending:
    if isinstance(ending, Lost):
        await _lose(execution, ending)
    elif isinstance(ending, Undelivered):
        await _reopen(execution, ending)
    elif isinstance(ending, Finished) and execution.pause is not None:
        await pause_run(execution, execution.pause)
    else:
        await _end(execution, ending)
    return ending


async def _end(execution: Execution, ending: Finished | Stopped | Failed) -> None:
    """End with success, cancelled or an error."""
    # An agent that ended before it said anything has the answers all the same.
    await execution.deliver()
    usage, result = usage_of(execution), clean(execution.run.result)
    if isinstance(ending, Stopped):
        execution.partial = _partial_text(execution.history.truncate_open())
    unbegun = execution.never_begun()
    await emit_all(execution, _closing_events(execution.lifecycle, ending))
    asked = _frontend_calls(execution) if isinstance(ending, Finished) else ()
    _note_read_only(execution, asked)
    pending = still_pending(execution, asked)
    unsettled = _unsettled(execution, ending, unbegun)
    results = _results_of_unanswered(execution, ending, pending, unbegun)
    unheard = _unheard(execution)
    write = FinalWrite(
        _OUTCOME[type(ending)],
        code=ending.code if isinstance(ending, Failed) else None,
        pending_calls=pending,
        handoff=waiting_handoff(execution),
        unheard=unheard,
        held_context=tuple(context_of(execution.run.input)) if unheard else (),
        iteration=_iteration(execution.run.iteration),
        memo=memo_of(execution) if execution.context.keeps_memo(ending) else None,
        result=kept_result(execution, result) if isinstance(ending, Finished) else None,
        unsettled=unsettled,
    )
    noted = execution.context.settle(execution.history, ending)
    await commit_end(execution, replace(write, returning=noted.returning))
    if execution.unsent is not None:
        # The run was stopped, or failed, while it was being stored.
        execution.stream.send(execution.unsent)
    for event in results:
        execution.stream.send(event)
    if execution.resumed or not execution.opening.level or noted.any:
        execution.stream.snapshots(execution.history.state, execution.history.messages)
    if isinstance(ending, Failed):
        told = " ".join(filter(None, (ending.message, noted.said))) or None
        execution.stream.fail(ending.code, told, usage=usage)
    elif isinstance(ending, Stopped):
        execution.stream.finish(CANCELLED, usage=usage)
    else:
        handed = _handed_over(execution, asked, pending)
        outcome = {**SUCCESS, "pendingToolCallIds": handed} if handed else SUCCESS
        execution.stream.finish(outcome, result=result, usage=usage)


_OUTCOME: Mapping[type, Any] = {Finished: "finished", Stopped: "stopped", Failed: "failed"}
_NEVER_BEGUN: Mapping[type, str] = {Finished: DANGLING, Stopped: STOPPED, Failed: FAILED}
_PERHAPS_BEGUN: Mapping[type, str] = {
    Finished: UNREPORTED,
    Stopped: STOPPED_AMID,
    Failed: FAILED_AMID,
}


def _iteration(told: object) -> int | None:
    """Model steps as they can be stored: whatever an agent takes for a number."""
    return int(told) if isinstance(told, int) else None


def _closing_events(
    lifecycle: Lifecycle, ending: Finished | Stopped | Failed
) -> Sequence[WireEvent]:
    """The events that close what is open."""
    if isinstance(ending, Stopped):
        return lifecycle.cancel()
    return lifecycle.finish() if isinstance(ending, Finished) else lifecycle.fail()


def _frontend_calls(execution: Execution) -> tuple[str, ...]:
    """Ids of the calls of this run that the application is to carry out."""
    tools = {tool.name for tool in execution.run.tools}
    declared = _declared(execution)
    return tuple(
        call.id
        for call in execution.lifecycle.unanswered
        if call.id in declared or call.name in tools
    )


def _note_read_only(execution: Execution, asked: Sequence[str]) -> None:
    """Note with its message which of the application's calls only look, as the page declares."""
    looks = {
        tool.name
        for tool in execution.run.tools
        if own_of(tool.model_dump()).get("readOnly") is True
    }
    for call in execution.lifecycle.unanswered if looks else ():
        if call.id in asked and call.name in looks:
            execution.history.rewrite_call(call.id, partial(_as_read_only, call.id))


def _as_read_only(call_id: str, message: dict[str, Any]) -> dict[str, Any]:
    return with_own_member(message, "readOnly", [*own_of(message).get("readOnly", ()), call_id])


def _declared(execution: Execution) -> Collection[str]:
    # Made a set also to find out whether an adapter's handoff names calls at all.
    return set(execution.handoff.tool_call_ids) if execution.handoff is not None else set()


def _handed_over(execution: Execution, asked: Sequence[str], pending: Sequence[str]) -> list[str]:
    """Ids of the calls that the client is told to carry out, those of earlier runs among them."""
    declared = _declared(execution)
    return [call for call in pending if call in asked or call in declared]


def _results_of_unanswered(
    execution: Execution,
    ending: Finished | Stopped | Failed,
    pending: Sequence[str],
    unbegun: Collection[str],
) -> list[WireEvent]:
    """Answer the calls that nothing answered: by whether they can have been executed."""
    history, mint = execution.history, execution.owner.mint
    but = (*pending, *_left_to_handoff(execution, ending))
    never, perhaps = _NEVER_BEGUN[type(ending)], _PERHAPS_BEGUN[type(ending)]
    results = answer_calls(history, never, mint=mint, only=unbegun, but=but)
    return [*results, *answer_calls(history, perhaps, mint=mint, but=but)]


def _unsettled(
    execution: Execution, ending: Finished | Stopped | Failed, unbegun: Collection[str]
) -> dict[str, InterruptStatus]:
    """What becomes of the interrupts whose approved calls have no result, by interrupt id."""
    statuses = {
        interrupt: InterruptStatus.CANCELLED if call in unbegun else InterruptStatus.INDETERMINATE
        for call, interrupt in execution.calls.approved.items()
    }
    if isinstance(ending, Failed) and ending.code == OutcomeUnknown.code:
        return dict.fromkeys(execution.claimed, InterruptStatus.INDETERMINATE) | statuses
    if isinstance(ending, Finished):
        # A framework that came to its end without a word of it has had its chance.
        return {i: s for i, s in statuses.items() if s is InterruptStatus.CANCELLED}
    return statuses


def _left_to_handoff(execution: Execution, ending: Finished | Stopped | Failed) -> Sequence[str]:
    """Calls whose results come once the application has returned its own, so none is made up."""
    if execution.handoff is not None and isinstance(ending, Finished):
        return execution.approved_calls if execution.handoff.continuation is not None else ()
    return (
        execution.calls.carried
        if execution.run.handoff is None and waiting_handoff(execution) is not None
        else ()
    )


def _partial_text(messages: Sequence[StoredMessage]) -> str | None:
    texts = [m.message.get("content") for m in messages if m.message["role"] == "assistant"]
    return "".join(text for text in texts if isinstance(text, str)) or None


async def _reopen(execution: Execution, ending: Undelivered) -> None:
    """Nothing reached the framework: the same questions stand, then the error."""
    claimed = list(execution.claimed.values())
    reopened: list[Interrupt] = []
    unheard, memo = _unheard(execution), memo_of(execution)

    take_edits_back(execution.history, execution.claimed, execution.decisions)
    taken_back = execution.history.take_dirty()

    def build(record: ThreadRecord, now: float) -> Change:
        change = reopen(
            record,
            claimed,
            unheard=unheard,
            context=context_of(execution.run.input),
            messages=taken_back,
            memo=memo,
            now=now,
        )
        reopened[:] = change.interrupts
        return change

    await execution.owner.commit(build)
    now = execution.owner.time.now()
    waiting = [ask for ask in reopened if not ask.expired(now)]
    outcome = interrupt_outcome(waiting) if waiting else SUCCESS
    state, messages = execution.history.state, list(execution.history.messages)
    execution.stream.refuse(
        outcome, "UPSTREAM_ERROR", ending.message or None, state, messages, waiting
    )


def _unheard(execution: Execution) -> tuple[str, ...]:
    """Ids of the messages that the agent was to hear, and did not."""
    return (
        ()
        if execution.heard
        else tuple(message["id"] for message in execution.run.raw_new_messages)
    )


async def _lose(execution: Execution, ending: Lost) -> None:
    """End a run that may write nothing more, unless what it was to write on is gone, too."""

    def said() -> Sequence[StoredMessage]:
        history, mint = execution.history, execution.owner.mint
        answer_calls(history, LOST, mint=mint, but=execution.owner.record.pending_calls)
        history.take_dirty(include_open=True)
        history.take_dropped()
        return history.stored() or ()

    if execution.resumed and ending.code == "RUN_INDETERMINATE":
        await execution.owner.close_lost_claim(list(execution.claimed.values()), said)
    _tell_lost(execution, ending)


def _tell_lost(execution: Execution, ending: Lost) -> None:
    for event in execution.lifecycle.fail():
        execution.stream.send(event)
    execution.stream.fail(ending.code)
