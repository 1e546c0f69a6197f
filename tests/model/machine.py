"""The rules by which Hypothesis moves the world: one schedule after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agui_bridge.protocol.contract.requests import AutoResume, Entry, Request
from agui_bridge.protocol.threads.records import Interrupt, Principal, RecordedAnswer, ThreadStatus
from tests.model.clients import (
    PEOPLE,
    RULES,
    answer_to,
    asks,
    fates,
    people,
    plans,
    sleeps,
    styles,
    with_another_type,
)
from tests.model.engine import LEASE, Engine
from tests.model.judging import may_answer
from tests.model.operations import Act, Action, AskKind, Fate, Pause, Plan, Process, Wait
from tests.model.promises import check_execution, check_promises
from tests.model.world import Job, Violation, World

__all__ = ["BridgeMachine"]

_index = st.integers(0, 7)
_variant = st.integers(0, 20)
_pauses = st.lists(asks, min_size=2, max_size=3) | st.lists(asks, min_size=1, max_size=3) | sleeps
_head_start = st.sampled_from((0, 1, 1, 2, 2, 2, 2, 3, 20))
_STRANGER = Entry("never raised", RecordedAnswer("cancelled"))
_AT_WORK = 6
_WAITING = ("held", "replay")
_REFUSED = ("INTERRUPT_", "INVALID_", "NOT_AN_APPROVER", "RUN_IN_PROGRESS", "SELF_APPROVAL")


def _message(who: Principal, auto: AutoResume | None = None) -> Request:
    return Request(has_new_message=True, auto_resume=auto, principal=who)


class BridgeMachine(RuleBasedStateMachine):
    """Any number of processes over one thread in one store."""

    engine_class: ClassVar[type[Engine]] = Engine

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.engine = self.engine_class(self.world)
        self.jobs: list[Job] = []
        self.requests: list[Request] = []
        self.rows: dict[str, Interrupt] = {}
        self.executed = 0

    # --- how a schedule begins ---

    @initialize(kinds=_pauses)
    def a_run_has_paused(self, kinds: list[AskKind]) -> None:
        self._talk(_message(PEOPLE[0]), [Pause(tuple(kinds))])

    @precondition(lambda self: self.world.look().status is not ThreadStatus.RUNNING)
    @rule(kinds=_pauses, anew=st.sampled_from((False, False, False, True)), who=people)
    def another_run_pauses(self, kinds: list[AskKind], anew: bool, who: Principal) -> None:
        """Bring the thread to its next pause, or delete it and bring it to its first one."""
        if anew:
            self._drive(self._begin("delete", self.engine.delete()), [])
        if not self._batch():
            self._talk(_message(who), [Pause(tuple(kinds))])

    # --- clients ---

    @precondition(lambda self: len(self.jobs) < _AT_WORK)
    @rule(
        variant=_variant,
        auto=st.sampled_from((False, False, True)),
        follows=st.booleans(),
        ahead=_head_start,
        who=people,
    )
    def send_message(
        self, variant: int, auto: bool, follows: bool, ahead: int, who: Principal
    ) -> None:
        extracted: AutoResume | None = None
        if auto:
            waiting = [ask for ask in self._batch() if ask.is_open]
            entries = tuple(answer_to(ask, "approve", variant) for ask in waiting)
            extracted = AutoResume(entries if variant % 4 else (), follows)
        self._send(_message(who, extracted), ahead)

    @precondition(lambda self: len(self.jobs) < _AT_WORK and bool(self._batch()))
    @rule(
        chosen=st.one_of(st.just(["approve"] * 3), st.lists(styles, min_size=3, max_size=3)),
        only=st.sampled_from((None, None, None, 0, 1, 2)),
        variant=_variant,
        message=st.booleans(),
        ahead=st.sampled_from((0, 1, 1, 2, 2, 2, 2)),
        who=people,
        own=st.sampled_from((True, True, False)),
    )
    def answer_batch(
        self,
        chosen: list[str],
        only: int | None,
        variant: int,
        message: bool,
        ahead: int,
        who: Principal,
        own: bool,
    ) -> None:
        """Answer what the thread asks, at once or singly, as a client that was just told."""
        waiting = [ask for ask in self._batch() if ask.is_open]
        if own:  # what is theirs to answer, as their client shows it
            waiting = [ask for ask in waiting if may_answer(ask, who)] or waiting
        entries = [
            answer_to(ask, style, variant) for ask, style in zip(waiting, chosen, strict=False)
        ]
        if only is not None:
            entries = entries[only % len(entries) :][:1] if entries else []
        singly = only is not None
        request = Request(
            tuple(entries), has_new_message=message, answers_singly=singly, principal=who
        )
        self._send(request, ahead)

    @precondition(lambda self: len(self.jobs) < _AT_WORK and bool(self.world.ledger.asks))
    @rule(
        picks=st.lists(st.tuples(_index, styles, _variant), min_size=1, max_size=3),
        singly=st.booleans(),
        stranger=st.sampled_from((False,) * 5 + (True,)),
        lenient=st.booleans(),
        ahead=_head_start,
        who=people,
    )
    def answer_some(
        self,
        picks: list[tuple[int, str, int]],
        singly: bool,
        stranger: bool,
        lenient: bool,
        ahead: int,
        who: Principal = PEOPLE[1],
    ) -> None:
        """Answer anything that was ever asked, the latest most of all."""
        known = list(reversed(self.world.ledger.asks.values()))
        entries = [answer_to(known[at % len(known)], style, var) for at, style, var in picks]
        if not (lenient and stranger):  # else one may be named twice
            entries = list({entry.interrupt_id: entry for entry in entries}.values())
        entries += [_STRANGER] * stranger
        request = Request(
            tuple(entries), answers_singly=singly, skip_unknown=lenient, principal=who
        )
        self._send(request, ahead)

    @precondition(lambda self: len(self.jobs) < _AT_WORK and bool(self.requests))
    @rule(
        at=_index,
        first_only=st.booleans(),
        retyped=st.sampled_from((0, 0, 1)),
        ahead=_head_start,
        other=st.none() | people,
    )
    def send_again(
        self, at: int, first_only: bool, retyped: int, ahead: int, other: Principal | None
    ) -> None:
        """Repeat an earlier request, or its first entry, or with 1 written as true."""
        earlier = self.requests[-1 - at % len(self.requests)]
        entries = earlier.entries[:1] if first_only else earlier.entries
        if retyped:
            entries = tuple(with_another_type(entry) for entry in entries)
        who = other or earlier.principal
        self._send(Request(entries, answers_singly=earlier.answers_singly, principal=who), ahead)

    @precondition(lambda self: len(self.jobs) < _AT_WORK)
    @rule(
        what=st.sampled_from(("stop",) * 3 + ("force",) * 2 + ("sweep",) * 2 + ("delete",)),
        ahead=st.sampled_from((0, 1, 2, 20, 20, 20)),
    )
    def intervene(self, what: str, ahead: int) -> None:
        match what:
            case "sweep":
                process = self.engine.sweep()
            case "delete":
                process = self.engine.delete()
            case _:
                process = self.engine.stop(what == "force")
        self._head_start(self._begin(what, process), ahead)

    # --- processes; one that is not stepped stands still, as under SIGSTOP ---

    @precondition(lambda self: bool(self.jobs))
    @rule(at=_index, operations=st.integers(1, 8), fate=fates, plan=plans)
    def proceed(self, at: int, operations: int, fate: Fate, plan: list[Plan]) -> None:
        """Let a process do some operations, the last of which meets this fate."""
        job = self.jobs[at % len(self.jobs)]
        for left in range(operations, 0, -1):
            waits = isinstance(job.operation, Wait)
            moved = self._step(job, fate if left == 1 else Fate.DELIVERED, plan)
            if job.over or waits or not moved:
                break

    @precondition(lambda self: bool(self.jobs))
    @rule(at=_index, plan=plans)
    def proceed_to_the_end(self, at: int, plan: list[Plan]) -> None:
        self._drive(self.jobs[at % len(self.jobs)], plan)

    @precondition(lambda self: any(isinstance(job.operation, Act) for job in self.jobs))
    @rule(plan=plans, last=fates)
    def agent_acts(self, plan: list[Plan], last: Fate) -> None:
        """Let an agent do what it plans; what it writes last meets this fate."""
        job = next(job for job in self.jobs if isinstance(job.operation, Act))
        while not job.over and (plan or not isinstance(job.operation, Act)):
            if not self._step(job, last if not plan else Fate.DELIVERED, plan):
                break

    @precondition(lambda self: bool(self.jobs))
    @rule(at=_index)
    def crash(self, at: int) -> None:
        job = self.jobs.pop(at % len(self.jobs))
        job.crash()

    @rule(seconds=st.sampled_from((1.0, 1.0, 4.0, 4.0, 6.0, LEASE, 11.0, 31.0)))
    def pass_time(self, seconds: float) -> None:
        self.world.clock.advance(seconds)

    # --- what must hold ---

    @invariant()
    def promises_are_kept(self) -> None:
        check_promises(self.world, self.engine, self.rows)
        self.rows = self.world.rows()

    def teardown(self) -> None:
        """Every process dies, every lease ends: whatever happened, the thread must go on."""
        for job in self.jobs:
            job.crash()
        self.jobs.clear()
        if self.world.ledger.asks:
            self.world.clock.advance(LEASE)
            self._must_wake()
            for style in ("cancel", "approve", "cancel"):
                self._must_run(style, [Pause((AskKind(rule=RULES[4]), AskKind(tool=False)))])
            self._must_run("approve", [Action.FINISH])
            self._must_run("approve", [Action.FINISH])
        self.promises_are_kept()

    def _must_wake(self) -> None:
        """Whoever sweeps after its time has a run go on that slept."""
        self._drive(self._begin("sweep", self.engine.sweep()), [])
        asleep = [ask.id for ask in self._batch() if ask.is_timer]
        self.world.clock.advance(100.0)
        self._drive(self._begin("sweep", self.engine.sweep()), [Action.EXECUTE, Action.FINISH])
        gone_on = {done.interrupt_id for done in self.world.ledger.executions}
        if not gone_on.issuperset(asleep):
            raise Violation(f"{asleep} slept, and its run never went on")

    def _must_run(self, style: str, plan: list[Plan]) -> None:
        """Drive the thread to a new run: by a message, else by an answer to what it asks."""
        before = self.world.look().record
        told = self._talk(_message(PEOPLE[2]), plan)
        if told == "INTERRUPT_PENDING":
            told = "held"
            for who in PEOPLE:
                # "replay" where they have voted so before.
                if told in _WAITING and (mine := self._may(who)):
                    told = self._answer(who, mine, style, plan)
            if told in _WAITING:
                # Those who may are too few; whoever asked withdraws.
                for name in dict.fromkeys(ask.asked_by for ask in self._waiting()):
                    who = next(one for one in PEOPLE if one.actor == name)
                    told = self._answer(who, self._waiting(), "cancel", plan)
        if told != "finished":
            raise Violation(f"the thread is bricked: {before} lets nothing in, says {told}")

    def _talk(self, request: Request, plan: list[Plan]) -> str | None:
        job, left = self._begin("talk", self.engine.answer(request)), list(plan)
        for _ in range(3):
            self._drive(job, left)
            for woken in [each for each in self.jobs if each.name == "wake" and not job.over]:
                self._drive(woken, [Action.EXECUTE, Action.FINISH])
        return job.told

    def _answer(
        self, who: Principal, asks: Sequence[Interrupt], style: str, plan: list[Plan]
    ) -> str | None:
        entries = tuple(answer_to(ask, style, 1) for ask in asks)
        return self._talk(Request(entries, principal=who), plan)

    # --- helpers ---

    def _waiting(self) -> list[Interrupt]:
        now = self.world.now
        return [ask for ask in self._batch() if ask.is_open and not ask.expired(now)]

    def _may(self, who: Principal) -> list[Interrupt]:
        return [ask for ask in self._waiting() if may_answer(ask, who)]

    def _batch(self) -> tuple[Interrupt, ...]:
        loaded = self.world.look()
        return loaded.batch_interrupts() if loaded.status is ThreadStatus.INTERRUPTED else ()

    def _send(self, request: Request, ahead: int) -> None:
        self.requests.append(request)
        self._head_start(self._begin("input", self.engine.answer(request)), ahead)

    def _head_start(self, job: Job, operations: int) -> None:
        """Let a new process do its first operations undisturbed."""
        for _ in range(operations):
            if job.over or not self._step(job, Fate.DELIVERED, []):
                break

    def _begin(self, name: str, process: Process) -> Job:
        job = Job(name, process)
        self.jobs.append(job)
        return job

    def _drive(self, job: Job, plan: list[Plan]) -> Job:
        """Let a process go on undisturbed until it is over, waits, or has nothing to do."""
        for _ in range(50):
            if job.over:
                break
            waits = isinstance(job.operation, Wait)
            if not self._step(job, Fate.DELIVERED, plan) or (waits and not job.over):
                break
        else:
            raise Violation(f"{job.name} goes round in circles")
        return job

    def _step(self, job: Job, fate: Fate, plan: list[Plan]) -> bool:
        moved = self.world.step(job, fate, plan)
        for execution in self.world.ledger.executions[self.executed :]:
            check_execution(self.world, execution)
        self.executed = len(self.world.ledger.executions)
        while self.engine.woken:
            self._begin("wake", self.engine.answer(self.engine.woken.pop()))
        if job.over:
            if job in self.jobs:
                self.jobs.remove(job)
            self._check_told(job)
        return moved

    def _check_told(self, job: Job) -> None:
        """A refused input has changed nothing but what was due."""
        refused = (job.told or "").startswith(_REFUSED)
        # A look is claimed before its input is sent.
        written = [why for why in job.wrote if why not in ("recover", "look")]
        if refused and written:
            raise Violation(f"{job.told} was told, but the refused input wrote {written}")
