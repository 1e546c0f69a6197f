"""What a run's claim writes, and what the run begins with."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ag_ui.core import RunAgentInput

from agui_bridge.adapters import HandoffResults, Resume as AdapterResume, Run
from agui_bridge.engine.input.settings import Settings
from agui_bridge.engine.input.starting_conversation import StartingConversation
from agui_bridge.engine.input.submission import Submission, receipt_of, with_held_context
from agui_bridge.engine.input.thread_size import ThreadSize
from agui_bridge.engine.run.context import AgentMessages, Context, askers_of
from agui_bridge.engine.run.leases import Owner
from agui_bridge.frozen import dataclass
from agui_bridge.protocol.answers.decisions import Approve, Cancel, Decision, decide
from agui_bridge.protocol.answers.unexecuted import (
    EXPIRED,
    NOT_GIVEN,
    UNTOLD,
    answer_batch,
    answer_calls,
)
from agui_bridge.protocol.contract.requests import Resume, Start
from agui_bridge.protocol.contract.transitions import Change, claim_resume, claim_start
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.completed_part import CompletedPart
from agui_bridge.protocol.threads.content_parts import known_messages
from agui_bridge.protocol.threads.history import History, StoredMessage
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    Interrupt,
    InterruptStatus,
    Json,
    RunLease,
    ThreadRecord,
    lease_token,
)
from agui_bridge.protocol.turns import with_executed, with_proposed
from agui_bridge.protocol.wire.run_events import activity_types, told_kept
from agui_bridge.stores.base import Committed

# --- the calls that people decided on, until each has its result ---
#
# Whether one may run is judged where it would: `tool_gate`, `agents.function.policy_gate`. What
# people made of their arguments is told in the conversation, as it is executed.


class DecidedCalls:
    """What is left to be carried out of what people approved.

    Args:
        interrupts: the interrupts that are about calls, by the id of the call.
        carried: calls that were approved earlier and have not run yet, because that run paused
            again first; without those that this one asks about.
        decisions: what was decided now, by interrupt id.

    Attributes:
        asked_about: the interrupts, by the id of the call, whatever has become of them.
        carried: those of the carried calls without a result.
    """

    __slots__ = ("_decisions", "_interrupts", "asked_about", "carried")

    def __init__(
        self,
        interrupts: Mapping[str, str],
        carried: Sequence[str],
        decisions: Mapping[str, Decision],
    ) -> None:
        self.asked_about: Mapping[str, str] = interrupts
        self._interrupts = dict(interrupts)
        self._decisions = decisions
        self.carried: list[str] = list(carried)

    @property
    def approved(self) -> dict[str, str]:
        """The interrupts whose calls were approved now and have no result, by call id."""
        decisions = self._decisions
        return {c: i for c, i in self._interrupts.items() if isinstance(decisions[i], Approve)}

    def __contains__(self, call_id: str) -> bool:
        """Whether the result of a call is one that somebody waits for."""
        return call_id in self._interrupts or call_id in self.carried

    def settle(self, call_id: str) -> str | None:
        """Take a call out, which has its result now; gives the interrupt about it, if any."""
        self.carried = [call for call in self.carried if call != call_id]
        return self._interrupts.pop(call_id, None)


def tell_edits(
    history: History, asks: Mapping[str, Interrupt], decisions: Mapping[str, Decision]
) -> None:
    """Put the edited arguments into the calls that they are for.

    With the claim already: whatever becomes of the run, what may have been executed stands there.

    Args:
        history: the conversation.
        asks: the questions, by interrupt id.
        decisions: what was decided on them.
    """
    for call_id, approved in _edited(asks, decisions).items():
        arguments = json.dumps(approved.args, ensure_ascii=False)
        history.rewrite_call(call_id, partial(with_executed, call_id=call_id, arguments=arguments))


def take_edits_back(
    history: History, asks: Mapping[str, Interrupt], decisions: Mapping[str, Decision]
) -> None:
    """Put the proposed arguments back: nothing was executed, and the questions are open again."""
    for call_id in _edited(asks, decisions):
        history.rewrite_call(call_id, partial(with_proposed, call_id=call_id))


def _edited(asks: Mapping[str, Interrupt], decisions: Mapping[str, Decision]) -> dict[str, Approve]:
    return {
        call.id: decision
        for ask, decision in decisions.items()
        if isinstance(decision, Approve)
        and (call := asks[ask].tool_call) is not None
        and decision.args != call.args
    }


# --- the claim ---


@dataclass(frozen=True, slots=True)
class Opening:
    """What a client is told before its agent says anything.

    Attributes:
        level: whether it has the thread as it is.
        repairs: results of tool calls that it lacks, as events: those supplied now for calls that
            nobody had answered, or meanwhile by the sweeper. First why nothing was taken back,
            where its list ends early.
        told_alone: how many messages it is told before it is told all; None where it need not be.
        activities: types of the activities that the thread has had, those taken back too.
    """

    level: bool
    repairs: tuple[WireEvent, ...]
    told_alone: int | None = None
    activities: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that is about to be committed.

    Attributes:
        submission: the input.
        incoming: what it brings to the thread.
        change: what the claim writes.
        history: the conversation that the run begins with.
        interrupts: what the run carries out, by id; empty for a fresh run.
        decisions: what was decided on them, by interrupt id.
        opening: what the client is told first.
        size: how large the conversation is.
        context: what of the conversation the agent is sent.
    """

    submission: Submission
    incoming: StartingConversation
    change: Change
    history: History
    interrupts: Mapping[str, Interrupt]
    decisions: Mapping[str, Decision]
    opening: Opening
    size: ThreadSize
    context: Context

    @classmethod
    def of(
        cls,
        submission: Submission,
        incoming: StartingConversation,
        ruling: Start | Resume,
        settings: Settings,
        mint: Callable[[], str],
        process: str,
    ) -> Claim:
        """Work out the claim of an admitted input; its lease names the process."""
        loaded = incoming.loaded
        history = incoming.open_history(rewind=isinstance(ruling, Start))
        level = incoming.is_level(history, has_state=submission.parsed.has_state)
        repairs: list[WireEvent] = []
        if isinstance(ruling, Start):
            unseen = incoming.unseen_results()
            not_given = incoming.not_given
            repairs = answer_calls(history, NOT_GIVEN, mint=mint, only=not_given)
            if ruling.closes_expired or not_given or not incoming.awaits_handoff:
                # Answered before the model sees the conversation: a dangling call breaks it.
                if ruling.closes_expired:
                    repairs += answer_batch(history, loaded, EXPIRED, mint)
                else:
                    # Of no such call it is recorded that it never began.
                    repairs += answer_calls(history, UNTOLD, mint=mint, but=loaded.pending_calls)
            repairs += unseen
        if submission.parsed.has_state:
            history.apply({"type": "STATE_SNAPSHOT", "snapshot": submission.parsed.input.state})
        decisions = _decisions(submission, loaded, ruling) if isinstance(ruling, Resume) else {}
        tell_edits(history, loaded.interrupts, decisions)
        token, actor = lease_token(process, mint()), submission.principal.actor
        lease = RunLease(submission.run_id, token, 0.0, actor, receipt_of(submission))
        size = ThreadSize.of(
            history,
            incoming,
            submission.agent.settings.max_thread_bytes,
            starts=isinstance(ruling, Start),
            repairs=repairs,
        )
        context = Context.of(incoming, history, starts=isinstance(ruling, Start))
        change = _change(
            submission, incoming, ruling, lease, history, context, settings.lease_seconds, size.left
        )
        return cls(
            submission=submission,
            incoming=incoming,
            change=change,
            history=history,
            interrupts={ask.id: ask for ask in change.interrupts} if decisions else {},
            decisions=decisions,
            opening=Opening(
                level,
                (*told_kept(incoming.client.kept), *repairs),
                None if level else incoming.told_alone(history),
                activity_types(stored.message for stored in loaded.messages),
            ),
            size=size,
            context=context,
        )

    @property
    def asked_about(self) -> dict[str, str]:
        """The interrupts that are about tool calls without a result, by the id of the call."""
        asks = (ask for ask in self.interrupts.values() if ask.id in self.decisions)
        return {ask.tool_call.id: ask.id for ask in asks if ask.tool_call is not None}

    @property
    def carried(self) -> list[str]:
        """Calls of earlier runs without a result, which neither people nor clients are to give."""
        calls = self.history.calls
        others = {*self.asked_about, *self.change.record.pending_calls, *calls.answered}
        return [call for call in calls.ids if call not in others]

    def run_of(self, committed: Committed, owner: Owner, *, held: bool = False) -> Run:
        """The run as the adapter sees it, once the claim is committed.

        Args:
            committed: the claim.
            owner: the run's.
            held: whether this process held the pause until then.
        """
        record = committed.record
        raw = self.incoming.for_agent(
            self.history, self.submission.agent.settings.history, self.context.left_out
        )
        told, history = self.told, self.history
        run = Run(
            agent=self.submission.agent.name,
            thread_id=self.submission.key.thread,
            run_id=self.submission.run_id,
            input=self.input,
            principal=self.submission.acts_as,
            state=record.state,
            closed=record.closed,
            conversation=lambda: history.messages,
            raw_messages=AgentMessages(raw),
            raw_new_messages=AgentMessages(told),
            silent=self.is_silent(told),
            checkpoints=record.checkpoint is not None,
            check_lease=owner.check,
            policy=self.submission.agent.policy,
            mint=owner.mint,
            now=owner.time.now,
            memo=self._memo(record, raw),
            outdated_memo=self._outdated_memo(),
            left=record.watch and record.watch.note,
            looks=self.submission.looks,
            superseded=_not_among(raw, record.rewound),
            archived=record.archived,
            unkept=self._unkept(record, raw),
            known_calls=[*self.history.calls.ids, *record.gone_calls],
        )
        if self.submission.takes_up:
            return run
        if self.interrupts and record.batch is not None:
            answers = {self.interrupts[i].native_id: d for i, d in self.decisions.items()}
            brought = known_messages(self._unheard()) if self._by_message else run.new_messages
            run.resume = AdapterResume(
                record.batch.continuation,
                answers,
                brought,
                _others(self.submission, self.incoming.loaded),
                held,
            )
        elif self.incoming.handoff is not None and self.incoming.results:
            untold = dict.fromkeys(self.incoming.not_given, NOT_GIVEN)
            results = {**self.incoming.results, **untold}
            run.handoff = HandoffResults(self.incoming.handoff, results)
        return run

    @property
    def input(self) -> RunAgentInput:
        """The input as its agent gets it."""
        return with_held_context(self.submission.parsed.input, self.incoming.loaded.record)

    @property
    def told(self) -> list[WireEvent]:
        """The messages that are new to the agent."""
        return [*self._unheard(), *self._brought()]

    def _brought(self) -> list[WireEvent]:
        """The messages that the input adds, as they are stored, and what it tries again."""
        if (tried := self.context.tried) is not None:
            # The agent was not sent it: to a framework with a history of its own it is new.
            return [m for m in self.history.messages if m["id"] == tried]
        if not self.incoming.client.superseded:
            return list(self.incoming.client.added)
        # One of them has the note of what was taken back.
        added = {message["id"]: message for message in self.incoming.client.added}
        stored = {m["id"]: m for m in self.history.messages if m["id"] in added}
        return [stored.get(id, message) for id, message in added.items()]

    def is_silent(self, told: Sequence[WireEvent]) -> bool:
        """Whether the run begins with nothing that anybody says."""
        if self.interrupts or (self.incoming.handoff is not None and self.incoming.results):
            return False
        return self.incoming.client.again is None and not any(m["role"] == "user" for m in told)

    def _memo(self, record: ThreadRecord, shown: Sequence[Mapping[str, Json]]) -> Json:
        """What the adapter noted, unless the agent is shown another conversation."""
        return record.memo if record.memo is not None and self.incoming.shows_all(shown) else None

    def _outdated_memo(self) -> Json:
        """What the adapter noted before the client went back with this input."""
        before = self.incoming.loaded.record
        return before.memo if before is not None and self.incoming.client.superseded else None

    def _unkept(
        self, record: ThreadRecord, shown: Sequence[Mapping[str, Json]]
    ) -> list[Mapping[str, Json]]:
        """What a framework's own history may lack; the application's results it gets anyway."""
        now = self.history.messages
        lacking = CompletedPart.lacks(record.kept, self.incoming.loaded.messages, now)
        late = {message["toolCallId"] for message in self.incoming.client.late}
        lacking |= {m["id"] for m in now if m["role"] == "tool" and m["toolCallId"] in late}
        lacking -= {message["id"] for message in self.incoming.client.added}
        if not lacking:
            return []
        return [message for message in shown if message["id"] in lacking]

    def _unheard(self) -> list[WireEvent]:
        """Messages of earlier inputs that no agent has heard, as far as they still stand."""
        before = self.incoming.loaded.record
        if before is None or not before.unheard:
            return []
        told = {*before.unheard} - self.context.left_out - {self.context.tried}
        return [m for m in self.history.messages if m["id"] in told]

    @property
    def _by_message(self) -> bool:
        """Whether the new messages were the answer: they are no news besides it."""
        expired = {i for i, d in self.decisions.items() if d == Cancel("expired")}
        return not self.submission.parsed.entries and any(
            self.incoming.loaded.interrupts[i].is_open for i in self.interrupts.keys() - expired
        )


def _not_among(messages: Sequence[Mapping[str, Json]], ids: Sequence[str]) -> list[str]:
    if not ids:
        return []
    shown = {message["id"] for message in messages}
    return [id for id in ids if id not in shown]


def _decisions(submission: Submission, loaded: Loaded, ruling: Resume) -> dict[str, Decision]:
    others, actor = _others(submission, loaded), submission.principal.actor
    return {
        ask.id: decide(
            ask,
            ruling.answers[ask.id],
            expired=ask.id in ruling.expired,
            actor=others.get(ask.native_id, actor),
            votes=ruling.votes.get(ask.id, ask.votes),
        )
        for ask in loaded.batch_interrupts()
    }


def _others(submission: Submission, loaded: Loaded) -> dict[str, str]:
    """Who gave the answers that were held until now, by native id.

    Whoever completes a pause has not approved what somebody else did, unless they say so too.
    """
    named = {entry.interrupt_id for entry in submission.parsed.entries}
    return {
        ask.native_id: ask.changes[-1].actor
        for ask in loaded.batch_interrupts()
        if ask.status is InterruptStatus.ANSWERED and ask.id not in named
    }


def _change(
    submission: Submission,
    incoming: StartingConversation,
    ruling: Start | Resume,
    lease: RunLease,
    history: History,
    context: Context,
    lease_seconds: float,
    archived: Sequence[StoredMessage],
) -> Change:
    loaded: Loaded = incoming.loaded
    messages, state = history.take_dirty(), history.take_state()
    if isinstance(ruling, Resume):
        return claim_resume(
            loaded,
            ruling,
            lease,
            messages=messages,
            returned=incoming.results,
            state=state,
            lease_seconds=lease_seconds,
            askers=askers_of(submission, incoming, continues=True),
            via=submission.via,
        )
    return claim_start(
        loaded,
        submission.key,
        lease,
        fresh_version=secrets.randbits(52),
        closes_expired=ruling.closes_expired,
        messages=messages,
        superseded=incoming.client.superseded,
        archived=archived,
        returned=(*incoming.results, *incoming.not_given, *incoming.returned),
        state=state,
        lease_seconds=lease_seconds,
        left_out=context.suspects,
        askers=askers_of(
            submission,
            incoming,
            continues=bool(incoming.results or (loaded.record and loaded.record.unheard)),
        ),
    )
