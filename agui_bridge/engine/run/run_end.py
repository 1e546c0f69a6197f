"""The end of a run: it is told to the store first, to the client second.

Whatever the ending, in this order: the framework has its answers; what is open is closed with
events; the calls that nothing answered get a sentence; one commit writes all of it and makes the
thread idle, or interrupted; only then the client is told. After the commit nothing may be refused:
all that may is made before it.

| what fails | the run ends as | the thread |
|---|---|---|
| what the adapter hands over last, its question | failed, without pause and result | idle |
| the framework was never reached with its answers | undelivered | the same questions, open again |
| the lease is over (`Fenced`) | lost | another's; a claim that the store lost is closed |
| replicas may lack the commit (`NotReplicated`) | lost | as committed, unless a failover comes |
| the store is gone (`StoreUnavailable`) | lost | recovered once the lease is over |

Source: docs/contract.md, "What goes on the wire" and "Stop".
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ag_ui.core import TokenUsage
from pydantic import ValidationError

from agui_bridge.adapters import Pause, Run
from agui_bridge.approvals import ApprovalsFailed
from agui_bridge.engine.input.auto_resume import question_in_words
from agui_bridge.engine.input.submission import Agent, Submission, context_of
from agui_bridge.engine.remembered import apply_grants, continuing
from agui_bridge.engine.run.claim import take_edits_back
from agui_bridge.engine.run.context import Context
from agui_bridge.engine.run.interrupts import check_shown, raise_interrupts, shown_call, with_rules
from agui_bridge.engine.run.notes import continuation_of, memo_of, size_of, watch_of
from agui_bridge.engine.run.transcript import OpenCalls, Transcript
from agui_bridge.errors import (
    AdapterError,
    Fenced,
    NotReplicated,
    StoreUnavailable,
)
from agui_bridge.frozen import replace
from agui_bridge.protocol.answers.unexecuted import LOST, answer_calls
from agui_bridge.protocol.contract.end_transitions import FinalWrite, end_run, reopen
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.json_values import clean
from agui_bridge.protocol.threads.completed_part import CompletedPart
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.records import Batch, Interrupt, Json, ThreadRecord
from agui_bridge.protocol.threads.run_ends import (
    Ending,
    Failed,
    Finished,
    Lost,
    Stopped,
    Undelivered,
)
from agui_bridge.protocol.wire.run_events import CANCELLED, SUCCESS, interrupt_outcome

logger: Final = logging.getLogger("agui_bridge")

_OUTCOME: Final[Mapping[type, Any]] = {
    Finished: "finished",
    Stopped: "stopped",
    Failed: "failed",
}


class RunEnd:
    """Ends one run.

    Args:
        agent: who answers.
        run: what its adapter saw.
        said: what was said.
        calls: those without a result, and what is handed to the application.
        context: what of the conversation the agent was sent.
        pause: the questions with which the adapter ended.
        hold: token under which this process holds them; None where it does not.
        reached: whether the run came to its agent.
        heard: whether the agent has got what the run brings, as far as one can tell.

    Attributes:
        asked: the questions that it ended with, as they are stored.
        goes_on: the input that carries its pause on, where nobody has to answer it.
        partial: text of a message that a stop cut off.
    """

    __slots__ = (
        *("_agent", "_calls", "_context", "_heard", "_history", "_hold", "_lifecycle", "_owner"),
        *("_pause", "_reached", "_run", "_said", "_stream", "asked", "goes_on", "partial"),
    )

    def __init__(
        self,
        agent: Agent,
        run: Run,
        said: Transcript,
        calls: OpenCalls,
        context: Context,
        *,
        pause: Pause | None,
        hold: str | None = None,
        reached: bool,
        heard: bool,
    ) -> None:
        self._agent = agent
        self._run = run
        self._said = said
        self._owner = said.owner
        self._stream = said.stream
        self._history = said.history
        self._lifecycle = said.lifecycle
        self._calls = calls
        self._context = context
        self._pause = pause
        self._hold = hold
        self._reached = reached
        self._heard = heard
        self.asked: tuple[Interrupt, ...] = ()
        self.goes_on: Submission | None = None
        self.partial: str | None = None

    async def close(self, ending: Ending) -> Ending:
        """Store the end of a run, then tell the client.

        Args:
            ending: as the adapter ended.

        Returns:
            How it really ended; storing the end may have failed.
        """
        try:
            try:
                await self._close(ending)
            except (Fenced, StoreUnavailable):
                raise
            except Exception as error:
                # What an adapter hands over last may be anything; the thread must not stay running.
                logger.exception("the end of the run is refused")
                self._pause = self._calls.handoff = None
                self._run.usage, self._run.result = [], None
                ending = _refused(error)
                await self._close(ending)
        except Fenced:
            ending = Lost()
            await self._lose(ending)
        except NotReplicated as error:
            logger.error("the end of the run may be lost in a failover: %s", error)
            ending = Lost()
            self._tell_lost(ending)
        except StoreUnavailable:
            logger.error("the end of the run could not be stored: the store is gone")
            ending = Lost("STORE_UNAVAILABLE")
            self._tell_lost(ending)
        return ending

    async def _close(self, ending: Ending) -> None:
        match ending:
            case Lost():
                await self._lose(ending)
            case Undelivered():
                await self._reopen(ending)
            case Finished() if self._pause is not None:
                await self._ask(self._pause)
            case Finished() | Stopped() | Failed():
                await self._end(ending)

    async def _commit(self, end: FinalWrite) -> None:
        """Store how the run ended, with all that it said and that is not stored yet."""
        history, said, messages = self._history, self._said, list[StoredMessage]()
        expired = [i for i, d in said.decisions.items() if getattr(d, "cause", None) == "expired"]
        if end.outcome == "finished" and not self._run.looks:
            end = replace(end, kept=CompletedPart.of(history.calls, history.last_position))

        def build(record: ThreadRecord, now: float) -> Change:
            messages.extend(history.take_dirty(include_open=True))
            return end_run(
                record,
                list(said.claimed.values()),
                end,
                messages=messages,
                rewritten=history.take_rewritten(messages),
                superseded=history.take_dropped(),
                state=history.state,
                told=self._run.closed,
                expired=expired,
                now=now,
            )

        await self._owner.commit(build)

    # --- success, cancelled, an error ---

    async def _end(self, ending: Finished | Stopped | Failed) -> None:
        # An agent that ended before it said anything has the answers all the same.
        await self._said.deliver()
        run, calls = self._run, self._calls
        usage, result = _usage(run), clean(run.result)
        if isinstance(ending, Stopped):
            self.partial = _text(self._history.truncate_open())
        unbegun = calls.never_begun(reached=self._reached)
        match ending:
            case Stopped():
                closing = self._lifecycle.cancel()
            case Finished():
                closing = self._lifecycle.finish()
            case Failed():
                closing = self._lifecycle.fail()
        await self._said.emit(closing)
        asked = calls.take_asked() if isinstance(ending, Finished) else ()
        pending, handoff = calls.pending(asked), self._waiting_handoff()
        to_come = calls.left_to_handoff(ending, waits=handoff is not None)
        unsettled = calls.unsettled(ending, unbegun)
        results = calls.answer(ending, (*pending, *to_come), unbegun)
        unheard = self._unheard()
        owner = self._owner
        write = FinalWrite(
            _OUTCOME[type(ending)],
            code=ending.code if isinstance(ending, Failed) else None,
            pending_calls=pending,
            handoff=handoff,
            unheard=unheard,
            held_context=tuple(context_of(run.input)) if unheard else (),
            iteration=int(run.iteration) if isinstance(run.iteration, int) else None,
            memo=memo_of(self._agent, self._run) if self._context.keeps_memo(ending) else None,
            result=self._kept_result(result) if isinstance(ending, Finished) else None,
            unsettled=unsettled,
            watch=watch_of(self._agent, run, owner.record, owner.time.now()),
        )
        noted = self._context.settle(self._history, ending)
        await self._commit(replace(write, returning=noted.returning))
        if self._said.unsent is not None:
            # The run was stopped, or failed, while it was being stored.
            self._stream.send(self._said.unsent)
        for event in results:
            self._stream.send(event)
        if self._said.resumed or not self._said.opening.level or noted.any:
            self._stream.snapshots(self._history.state, self._history.messages)
        match ending:
            case Failed():
                told = " ".join(filter(None, (ending.message, noted.said))) or None
                self._stream.fail(ending.code, told, usage=usage)
            case Stopped():
                self._stream.finish(CANCELLED, usage=usage)
            case Finished():
                handed = calls.handed_over(asked, pending)
                outcome = {**SUCCESS, "pendingToolCallIds": handed} if handed else SUCCESS
                self._stream.finish(outcome, result=result, usage=usage)

    # --- questions ---

    async def _ask(self, pause: Pause) -> None:
        """End with an interrupt: the questions are stored before the client sees them."""
        run, owner = self._run, self._owner
        interrupts = raise_interrupts(
            pause.asks,
            batch := owner.mint(),
            capabilities=self._agent.adapter.capabilities,
            settings=self._agent.settings,
            now=owner.time.now(),
            mint=owner.mint,
        )
        interrupts = await with_rules(
            pause.asks,
            interrupts,
            key=owner.key,
            askers=owner.record.askers,
            asked_by=run.principal.actor,
            approvals=self._agent.approvals,
            messages=self._history.messages,
        )
        interrupts = await apply_grants(owner.grants, owner.key, interrupts, owner.time.now())
        waiting = [interrupt for interrupt in interrupts if interrupt.is_open]
        usage, result = _usage(run), clean(run.result)
        outcome = interrupt_outcome(waiting)
        continuation = continuation_of(self._agent, pause.continuation)
        await self._say_question(waiting)
        await self._show_calls(interrupts)
        asking: dict[str, list[str]] = {}
        for interrupt in interrupts:
            if (subagent := interrupt.subagent_run_id) is not None:
                asking.setdefault(subagent, []).append(interrupt.id)
        await self._said.emit(self._lifecycle.suspend(asking))
        traceparent = run.trace_headers.get("traceparent")
        end = FinalWrite(
            "finished",
            batch=Batch(batch, continuation, traceparent, run.run_id),
            interrupts=interrupts,
            pending_calls=self._calls.pending(pause.frontend_calls),
            handoff=self._waiting_handoff(),
            memo=memo_of(self._agent, self._run),
            result=self._kept_result(result),
            watch=watch_of(self._agent, run, owner.record, owner.time.now()),
            hold=self._hold,
        )
        self._context.settle(self._history, Finished())
        await self._commit(end)
        if not waiting:
            body = run.input.model_dump(by_alias=True, exclude_none=True)
            self.goes_on = continuing(self._agent, run.principal, body)
            return
        self.asked = interrupts
        self._stream.snapshots(self._history.state, self._history.messages)
        self._stream.finish(outcome, result=result, usage=usage, asks=interrupts)

    async def _say_question(self, interrupts: Sequence[Interrupt]) -> None:
        """Say the question in the conversation where a message may answer it."""
        messages = self._history.messages
        for item in question_in_words(self._agent, self._run, interrupts, messages):
            for event in self._lifecycle.feed(item):
                if event.get("messageId") == item.message_id:
                    self._history.apply(event)
                    self._stream.send_question(event)
                else:
                    await self._said.emit((event,))

    async def _show_calls(self, interrupts: Sequence[Interrupt]) -> None:
        """Emit the calls that are asked about, unless the framework did it itself."""
        for interrupt in interrupts:
            call = interrupt.tool_call
            if call is None:
                continue
            if (shown := shown_call(self._history.messages, call.id)) is not None:
                check_shown(shown, call)
                continue
            owner = interrupt.subagent_run_id
            arguments = json.dumps(call.args, ensure_ascii=False, separators=(",", ":"))
            await self._said.emit(self._lifecycle.show_call(call.id, call.name, arguments, owner))

    # --- nothing reached the framework; the lease is over ---

    async def _reopen(self, ending: Undelivered) -> None:
        """The same questions stand, then the error."""
        claimed = list(self._said.claimed.values())
        reopened: list[Interrupt] = []
        unheard, memo = self._unheard(), memo_of(self._agent, self._run)
        take_edits_back(self._history, self._said.claimed, self._said.decisions)
        taken_back = self._history.take_dirty()

        def build(record: ThreadRecord, now: float) -> Change:
            change = reopen(
                record,
                claimed,
                unheard=unheard,
                context=context_of(self._run.input),
                messages=taken_back,
                memo=memo,
                now=now,
            )
            reopened[:] = change.interrupts
            return change

        await self._owner.commit(build)
        now = self._owner.time.now()
        waiting = [ask for ask in reopened if not ask.expired(now)]
        outcome = interrupt_outcome(waiting) if waiting else SUCCESS
        state, messages = self._history.state, list(self._history.messages)
        self._stream.refuse(
            outcome, "UPSTREAM_ERROR", ending.message or None, state, messages, waiting
        )

    async def _lose(self, ending: Lost) -> None:
        """End a run that may write nothing more, unless what it was to write on is gone, too."""
        history, owner = self._history, self._owner

        def said() -> Sequence[StoredMessage]:
            answer_calls(history, LOST, mint=owner.mint, but=owner.record.pending_calls)
            history.take_dirty(include_open=True)
            history.take_dropped()
            return history.stored() or ()

        if self._said.resumed and ending.code == "RUN_INDETERMINATE":
            await owner.close_lost_claim(list(self._said.claimed.values()), said)
        self._tell_lost(ending)

    def _tell_lost(self, ending: Lost) -> None:
        for event in self._lifecycle.fail():
            self._stream.send(event)
        self._stream.fail(ending.code)

    # --- what the adapter leaves, as it is stored ---

    def _unheard(self) -> tuple[str, ...]:
        """Ids of the messages that the agent was to hear, and did not."""
        if self._heard:
            return ()
        return tuple(message["id"] for message in self._run.raw_new_messages)

    def _waiting_handoff(self) -> Json:
        """What the adapter needs with the application's results: this run's, or a waiting one's."""
        if self._calls.handoff is not None:
            return continuation_of(self._agent, self._calls.handoff.continuation)
        done = self._run.handoff is not None or not self._calls.pending()
        return None if done else self._owner.record.handoff

    def _kept_result(self, result: Json) -> Json:
        """A run's result; nothing where that is too much: it is told all the same."""
        if result is None:
            return None
        run, most = self._run, self._agent.settings.max_result_bytes
        if (size := size_of(result)) <= most:
            return result
        logger.warning(
            "the result of agent %r on thread %r is told once and not kept: it takes %d bytes as "
            "JSON; at most %d are kept (max_result_bytes)",
            *(run.agent, run.thread_id, size, most),
        )
        return None


def _refused(error: Exception) -> Failed:
    """How a run ends whose end is refused."""
    # Whose rule is wrong is not to be looked for in the agent.
    told = str(error) if isinstance(error, ApprovalsFailed) else ""
    return Failed(error.code if isinstance(error, AdapterError) else "AGENT_ERROR", told)


def _text(messages: Sequence[StoredMessage]) -> str | None:
    """What an assistant says in messages; None where that is nothing."""
    texts = [m.message.get("content") for m in messages if m.message["role"] == "assistant"]
    return "".join(text for text in texts if isinstance(text, str)) or None


def _usage(run: Run) -> list[Json]:
    """Token usage as clients accept it; an entry of another shape is left out."""
    usage: list[Json] = []
    for entry in run.usage:
        try:
            known = TokenUsage.model_validate(clean(entry))
        except ValidationError:
            logger.warning("a usage entry was left out: it is malformed")
        else:
            usage.append(known.model_dump(mode="json", by_alias=True))
    return usage
