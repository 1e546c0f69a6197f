"""What one run says: folded into the conversation, stored, and told to the client.

An event goes through here in this order: it is put in order (`Lifecycle`), folded into the history,
stored first if it is the result of a call that people approved, and sent. What else has finished is
stored behind it, by the `Keeper` or with the run's end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from ag_ui.core import ToolCallResultEvent

from agui_bridge.adapters import Checkpoint, Handoff, Run
from agui_bridge.engine.run.claim import Claim, DecidedCalls, Opening
from agui_bridge.engine.run.leases import Owner
from agui_bridge.engine.streaming.event_stream import EventStream
from agui_bridge.errors import OutcomeUnknown
from agui_bridge.protocol.answers.decisions import Approve, Decision
from agui_bridge.protocol.answers.unexecuted import (
    DANGLING,
    FAILED,
    FAILED_AMID,
    STOPPED,
    STOPPED_AMID,
    UNREPORTED,
    answer_calls,
)
from agui_bridge.protocol.contract.transitions import Change, flush
from agui_bridge.protocol.json_patch import PatchError
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.lifecycle.lifecycle import Lifecycle
from agui_bridge.protocol.threads.checkpoint import Checkpoint as Standing
from agui_bridge.protocol.threads.content_parts import own_of, with_own_member
from agui_bridge.protocol.threads.history import History, Rewritten, StoredMessage
from agui_bridge.protocol.threads.record_parts import Watch
from agui_bridge.protocol.threads.records import Interrupt, InterruptStatus, ThreadRecord
from agui_bridge.protocol.threads.run_ends import Failed, Finished, Stopped
from agui_bridge.protocol.verifier.shapes import without_unknown
from agui_bridge.protocol.wire.run_events import messages_snapshot, state_snapshot

logger: Final = logging.getLogger("agui_bridge")

_PATCHES: Final = frozenset({"STATE_DELTA", "ACTIVITY_DELTA"})


class Transcript:
    """The conversation as one run changes it.

    Attributes:
        owner: the lease and the owner's writes.
        stream: what the client is told.
        history: the thread's messages and state as the run changes them.
        lifecycle: the order of the run's events.
        claimed: the interrupts that this run carries out, by id, as last written.
        decisions: what was decided on them, by interrupt id.
        calls: what was approved and is to be carried out.
        opening: what the client is told first.
        unsent: a result of the history that the stream has not told yet.
        delivered: whether the framework has got the answers.
        mark: where the run stands, to be stored with the next write; None where that is done.
    """

    __slots__ = (
        *("_relayed", "_settled", "_told_state", "calls", "claimed", "decisions", "delivered"),
        *("history", "lifecycle", "mark", "opening", "owner", "stream", "unsent"),
    )

    def __init__(
        self,
        claim: Claim,
        owner: Owner,
        stream: EventStream,
        *,
        relayed: bool,
        settled: Callable[[], None],
    ) -> None:
        """Begin with what the claim has.

        Args:
            claim: as it was committed.
            owner: writes.
            stream: tells.
            relayed: whether another server says what the run says.
            settled: called when the result of an approved call is stored.
        """
        self.owner = owner
        self.stream = stream
        self.history: History = claim.history
        self.claimed: dict[str, Interrupt] = dict(claim.interrupts)
        self.decisions: Mapping[str, Decision] = claim.decisions
        self.calls: DecidedCalls = DecidedCalls(claim.asked_about, claim.carried, claim.decisions)
        self.opening: Opening = claim.opening
        self.unsent: WireEvent | None = None
        # A run that was taken up has them unless it was lost before it said anything.
        point = owner.record.checkpoint if claim.submission.takes_up else None
        settled_some = len(claim.decisions) < len(claim.interrupts)
        self.delivered: bool = point is not None and (point.standing is not None or settled_some)
        self.mark: Checkpoint | None = None
        self.lifecycle: Lifecycle = Lifecycle(
            owner.mint,
            known_calls=self.history.calls.ids,
            settled_calls=self.history.calls.answered,
            known_messages=self.history.ids,
            known_activities=[m["id"] for m in self.history.messages if m["role"] == "activity"],
            relayed=relayed,
        )
        self._relayed = relayed
        self._settled = settled
        self._told_state = False

    @property
    def resumed(self) -> bool:
        """Whether this run carries out the answers to a pause."""
        return bool(self.claimed)

    def bring_up_to_date(self, *, goes_on: bool) -> None:
        """Show the conversation first where the client can't know what this run builds on.

        Results that were supplied come after it as events: a client puts an event's result
        behind its call, but what a snapshot adds at the end of its list.

        Args:
            goes_on: whether the run carries out what an earlier one asked, or left.
        """
        opening = self.opening
        self.stream.activities |= opening.activities
        if opening.level and not (goes_on or opening.repairs):
            return
        supplied = {event.get("messageId") for event in opening.repairs}
        if opening.told_alone is not None:
            alone = self.history.messages[: opening.told_alone]
            shown = [m for m in alone if m["id"] not in supplied]
            self.stream.send(messages_snapshot(shown, opening.activities))
        known = [m for m in self.history.messages if m["id"] not in supplied]
        self.stream.snapshots(self.history.state, known)
        self._told_state = True
        for event in opening.repairs:
            self.stream.send(event)

    async def deliver(self) -> None:
        """The framework has the answers now: say, once, which calls will not run."""
        if self.delivered:
            return
        self.delivered = True
        for interrupt_id, decision in self.decisions.items():
            call = self.claimed[interrupt_id].tool_call
            if call is not None and not isinstance(decision, Approve):
                refusal = ToolCallResultEvent(
                    message_id=self.owner.mint(),
                    tool_call_id=call.id,
                    content=decision.text,
                    role="tool",
                )
                await self.emit(self.lifecycle.feed(refusal))

    async def emit(self, events: Iterable[WireEvent]) -> None:
        """Fold events into the history and send them; a decided call's result is stored first."""
        for event in events:
            kind, state = event["type"], self.history.state
            if not self._fold(event):
                continue
            if kind == "STATE_DELTA" and not self._told_state:
                # A delta fits only the state that it was made from: the client must have that.
                self.stream.send(state_snapshot(state))
            if kind in ("STATE_DELTA", "STATE_SNAPSHOT"):
                self._told_state = True
            if kind == "TOOL_CALL_RESULT" and event["toolCallId"] in self.calls:
                self.unsent = event
                await self._settle(event["toolCallId"])
                self.unsent = None
            self.stream.send(event)

    def _fold(self, event: WireEvent) -> bool:
        """Fold an event into the history; whether the client is told.

        A delta that does not fit changes nothing, as with every client. It is passed on where
        another server said it. Operations that nobody knows are then passed over.
        """
        kind = event["type"]
        if self._relayed and kind in _PATCHES:
            event, _ = without_unknown(event, members=False)
        try:
            self.history.apply(event)
        except PatchError as error:
            if not self._relayed:
                logger.warning("%s can't be applied, and is left out: %s", kind, error)
                return False
            logger.warning("%s of the upstream agent can't be applied, and is passed on", kind)
        return True

    async def _settle(self, call_id: str) -> None:
        """Store the result of an approved call, and that its interrupt is closed by it."""
        asked = self.calls.settle(call_id)
        await self.write(settled=[self.claimed[asked]] if asked is not None else ())
        self._settled()

    async def reach(self, mark: Checkpoint) -> None:
        """Store where the run stands, with all that it has said, before it goes on."""
        self.mark = mark
        for event in mark.events:
            await self.emit(self.lifecycle.feed(event))
        if self.mark is mark:
            await self.write()
        mark.stored()

    async def write(
        self,
        settled: Sequence[Interrupt] = (),
        left: Callable[[ThreadRecord, float], Watch | None] | None = None,
    ) -> None:
        """Store what has finished so far.

        Args:
            settled: questions whose call has its result.
            left: makes the note of what the run leaves, of the record and the store's time.

        Raises:
            Fenced: the lease is over.
            StoreUnavailable: the store did not answer; what was to be written is kept for the
                next write.
        """
        messages: list[StoredMessage] = []
        rewritten: list[Rewritten] = []
        dropped: list[str] = []

        mark = self.mark

        def build(record: ThreadRecord, now: float) -> Change:
            messages.extend(self.history.take_dirty(include_open=mark is not None))
            rewritten.extend(self.history.take_rewritten(messages))
            if mark is not None:
                # Who takes the run up does not take them out again.
                dropped.extend(self.history.take_dropped())
            change = flush(
                record,
                messages=messages,
                state=self.history.take_state(),
                settled=settled,
                rewritten=rewritten,
                superseded=dropped,
                watch=left(record, now) if left is not None else None,
                checkpoint=_reached(record, mark),
                now=now,
            )
            self.claimed.update({row.id: row for row in change.interrupts})
            return change

        def undo() -> None:
            self.history.put_back(messages, rewritten, dropped)
            self.history.apply({"type": "STATE_SNAPSHOT", "snapshot": self.history.state})
            self.claimed.update({row.id: row for row in settled})

        await self.owner.commit(build, undo)
        if self.mark is mark:
            self.mark = None


def _reached(record: ThreadRecord, mark: Checkpoint | None) -> Standing | None:
    """Where a run stands at a mark; None where there is none."""
    if mark is None or record.checkpoint is None:
        return None
    begun = tuple(mark.begun)
    return record.checkpoint.reached(mark.continuation, begun, has_result=mark.has_result)


# --- the calls that have no result when their run ends ---
#
# Whose they are, and what is said of them.

_NEVER_BEGUN: Final[Mapping[type, str]] = {Finished: DANGLING, Stopped: STOPPED, Failed: FAILED}
_PERHAPS_BEGUN: Final[Mapping[type, str]] = {
    Finished: UNREPORTED,
    Stopped: STOPPED_AMID,
    Failed: FAILED_AMID,
}


class OpenCalls:
    """The calls without a result of one run.

    Args:
        run: the run.
        said: what it says.

    Attributes:
        handoff: what the run hands to the application, once it has.
    """

    __slots__ = ("_run", "_said", "handoff")

    def __init__(self, run: Run, said: Transcript) -> None:
        self._run = run
        self._said = said
        self.handoff: Handoff | None = None

    @property
    def approved(self) -> tuple[str, ...]:
        """Ids of the calls that were approved, and are this run's to carry out."""
        goes_on = self._said.resumed or self._run.handoff is not None
        return (*self._said.calls.approved, *self._said.calls.carried) if goes_on else ()

    def never_begun(self, *, reached: bool) -> frozenset[str]:
        """Ids of the calls that certainly nobody began to carry out.

        The agent says so of them, they were cut off before their arguments were complete, or
        were approved for an agent that this run never came to.

        Args:
            reached: whether it came to its agent.
        """
        cut_off = (call.id for call in self._said.lifecycle.unanswered if call.cut_off)
        unreached = () if reached else self._said.calls.approved
        return frozenset((*self._run.not_begun, *cut_off, *unreached))

    def take_asked(self) -> tuple[str, ...]:
        """Ids of the calls of this run that the application is to carry out.

        It is noted with its message which of them only look, as the page declares.
        """
        names = {tool.name for tool in self._run.tools}
        declared, unanswered = self._declared, self._said.lifecycle.unanswered
        asked = [call for call in unanswered if call.id in declared or call.name in names]
        tools = self._run.tools if asked else ()
        looks = {t.name for t in tools if own_of(t.model_dump()).get("readOnly") is True}
        for call in asked:
            if call.name in looks:
                self._said.history.rewrite_call(call.id, partial(_as_read_only, call.id))
        return tuple(call.id for call in asked)

    @property
    def _declared(self) -> Collection[str]:
        # Made a set also to find out whether an adapter's handoff names calls at all.
        return set(self.handoff.tool_call_ids) if self.handoff is not None else set()

    def pending(self, fresh: Sequence[str] = ()) -> tuple[str, ...]:
        """Frontend calls that wait for the application: from earlier runs, and of this one.

        Args:
            fresh: those of this one.
        """
        answered, before = self._said.history.calls.answered, self._said.owner.record.pending_calls
        earlier = [call for call in before if call not in answered]
        return (*earlier, *(call for call in fresh if call not in earlier))

    def handed_over(self, asked: Sequence[str], pending: Sequence[str]) -> list[str]:
        """Ids of the calls that the client is told to carry out, those of earlier runs too.

        Args:
            asked: those of this run.
            pending: all that wait.
        """
        declared = self._declared
        return [call for call in pending if call in asked or call in declared]

    def answer(
        self,
        ending: Finished | Stopped | Failed,
        but: Collection[str],
        unbegun: Collection[str],
    ) -> list[WireEvent]:
        """Answer the calls that nothing answered: by whether they can have been executed.

        Args:
            ending: how the run ends.
            but: calls whose results are still to come.
            unbegun: those that nobody began.

        Returns:
            The results, of which the history has taken note.
        """
        history, mint = self._said.history, self._said.owner.mint
        never, perhaps = _NEVER_BEGUN[type(ending)], _PERHAPS_BEGUN[type(ending)]
        results = answer_calls(history, never, mint=mint, only=unbegun, but=but)
        return [*results, *answer_calls(history, perhaps, mint=mint, but=but)]

    def left_to_handoff(self, ending: Finished | Stopped | Failed, *, waits: bool) -> Sequence[str]:
        """Calls whose results come once the application has returned its own.

        Args:
            ending: how the run ends.
            waits: whether the adapter waits for the application's results then.
        """
        if self.handoff is not None and isinstance(ending, Finished):
            return self.approved if self.handoff.continuation is not None else ()
        return self._said.calls.carried if self._run.handoff is None and waits else ()

    def unsettled(
        self, ending: Finished | Stopped | Failed, unbegun: Collection[str]
    ) -> dict[str, InterruptStatus]:
        """What becomes of the interrupts whose approved calls have no result, by interrupt id."""
        statuses = {
            interrupt: InterruptStatus.CANCELLED
            if call in unbegun
            else InterruptStatus.INDETERMINATE
            for call, interrupt in self._said.calls.approved.items()
        }
        if isinstance(ending, Failed) and ending.code == OutcomeUnknown.code:
            return dict.fromkeys(self._said.claimed, InterruptStatus.INDETERMINATE) | statuses
        if isinstance(ending, Finished):
            # A framework that came to its end without a word of it has had its chance.
            return {i: s for i, s in statuses.items() if s is InterruptStatus.CANCELLED}
        return statuses


def _as_read_only(call_id: str, message: dict[str, Any]) -> dict[str, Any]:
    return with_own_member(message, "readOnly", [*own_of(message).get("readOnly", ()), call_id])
