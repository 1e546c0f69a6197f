"""The same machine where pauses are held: a side waits at each question, and others answer, too.

A process of the model is a name in `Request.via`. A run that pauses leaves a side there, and a
holder that looks after it. The side acts when it is given an answer, which is the run's EXECUTE.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from agui_bridge.errors import Conflict
from agui_bridge.protocol.contract.end_transitions import FinalWrite, let_go
from agui_bridge.protocol.contract.requests import Hold, Request, Resume, Ruling, Start
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import ThreadStatus, process_of
from agui_bridge.stores.base import Committed
from tests.model.engine import LEASE, Engine, _Run
from tests.model.machine import BridgeMachine
from tests.model.operations import Action, Commit, Load, Operation, Plan, Process, Wait
from tests.model.world import KEY, Execution, Job, Violation, finish_now

__all__ = ["HoldingEngine", "HoldingMachine"]

_PROCESSES = ("p0", "p1", "p2")


@dataclass
class Side:
    """What waits at a question.

    Attributes:
        token: of its hold.
        alive: whether it still waits.
        letting_go: whether its holder is to let it go.
        left: whether its holder looks after it no more.
    """

    process: str
    token: str
    alive: bool = True
    letting_go: bool = False
    left: bool = False


class HoldingEngine(Engine):
    """Whose runs hold their pauses."""

    def __init__(self, world: Any) -> None:
        super().__init__(world)
        self.sides: dict[str, Side] = {}
        self.begun: list[Side] = []
        self._joins: set[int] = set()
        self._process: dict[str, str] = {}
        self._given: set[str] = set()

    # --- what the broken variants override ---

    def gives_first(self) -> bool:
        """Whether a side is given its answer before the claim."""
        return False

    def goes_on_with_answers(self) -> bool:
        """Whether the sweeper goes on with an answer that nobody's holder carries out."""
        return True

    def heeds_the_end(self) -> bool:
        """Whether a holder ends its side once the pause is not its own."""
        return True

    def asks_again(self) -> bool:
        """Whether a side that dies with its answer is asked anew."""
        return False

    # --- inputs ---

    def admit(self, loaded: Loaded, request: Request) -> Ruling:
        """Decide, in a process that holds the pause or does not."""
        hold = loaded.hold
        elsewhere = hold is not None and not self._is_held(hold.token, request.via)
        ruling = super().admit(loaded, replace(request, elsewhere=elsewhere))
        if isinstance(ruling, Hold) and ruling.joins:
            self._joins.add(id(request))
        return ruling

    def _is_held(self, token: str, process: str | None) -> bool:
        side = self.sides.get(token)
        return side is not None and side.process == process

    def answer(self, request: Request) -> Process:
        """The same, and wait for the holder with an answer that it is to carry out."""
        while True:
            told = yield from super().answer(request)
            if told != "held" or id(request) not in self._joins:
                return told
            self._joins.discard(id(request))
            yield Wait()

    def _claim(
        self, loaded: Loaded, decision: Start | Resume, request: Request
    ) -> Generator[Operation, Committed, _Run]:
        run = yield from super()._claim(loaded, decision, request)
        self._process[run.token] = request.via or _PROCESSES[0]
        hold = loaded.record.hold if loaded.record is not None else None
        mine = hold is not None and self._is_held(hold.token, request.via)
        if hold is not None and mine and self.sides.pop(hold.token).alive:
            self._given.add(run.token)
        return run

    def _turn(
        self, run: _Run, action: Plan, *, looked: bool
    ) -> Generator[Operation, Any, FinalWrite | Literal["undelivered"] | None]:
        if action is Action.FAIL and run.token in self._given and run.done and self.asks_again():
            # The side died with its answer.
            execution = next(e for e in self.world.ledger.executions if e.token == run.token)
            self.world.ledger.executions.append(replace(execution))
        ending = yield from super()._turn(run, action, looked=looked)
        if isinstance(ending, FinalWrite) and ending.batch is not None:
            process = self._process[run.token]
            return replace(ending, hold=f"{process}.{self.world.mint('hold')}")
        return ending

    def _own(self, run: _Run, change: Change, why: str) -> Commit:
        if (hold := change.record.hold) is not None and why == "end":
            change = replace(change, lease_seconds=LEASE)
            side = self.sides[hold.token] = Side(self._process[run.token], hold.token)
            self.begun.append(side)
        return super()._own(run, change, why)

    # --- the holder ---

    def hold(self, side: Side) -> Process:
        """Look after a side until its pause is not its own any more."""
        while True:
            yield Wait()
            loaded = yield Load()
            if side.token not in self.sides:
                return "taken"
            if loaded.hold is None or loaded.hold.token != side.token:
                if self.heeds_the_end():
                    del self.sides[side.token]
                    side.alive = False
                side.left = True
                return "ended"
            if loaded.only_answered:
                if self.gives_first():
                    self._give(loaded, side)
                self.woken.append(replace(self.time_has_come(loaded), via=side.process))
            elif side.letting_go:
                del self.sides[side.token]
                side.alive = False
                self.renew(side, 0.0)
                return "let go"

    def _give(self, loaded: Loaded, side: Side) -> None:
        for ask in loaded.batch_interrupts():
            if ask.tool_call is not None:
                args = dict(ask.tool_call.args)
                self.world.ledger.executions.append(Execution(ask.id, args, side.token))

    def renew(self, side: Side, seconds: float) -> None:
        """Have a hold end so many seconds from now, if it is not over."""
        self.world._forget_looks()
        finish_now(self.world.store.renew({side.token: KEY}, seconds))

    def sweep(self) -> Process:
        """Look once; a hold that is over is noted, and what was answered goes on."""
        loaded = yield Load()
        if loaded.hold_over and not loaded.all_expired:
            if loaded.only_answered:
                if not self.goes_on_with_answers():
                    return "swept"
                return (yield from self.answer(self.time_has_come(loaded)))
            try:
                yield self._commit(loaded, let_go(loaded), "let go")
            except Conflict:
                return "somebody was first"
            return "swept"
        return (yield from super().sweep())


class HoldingMachine(BridgeMachine):
    """Any number of processes over one thread whose pauses are held."""

    engine_class: ClassVar[type[Engine]] = HoldingEngine
    engine: HoldingEngine

    def _send(self, request: Request, ahead: int) -> None:
        process = _PROCESSES[len(self.requests) % len(_PROCESSES)]
        super()._send(replace(request, via=process), ahead)

    def _talk(self, request: Request, plan: list[Plan]) -> str | None:
        """The same, where the side waits if there is one."""
        hold = self.world.look().hold
        at = process_of(hold.token) if hold is not None else None
        return super()._talk(replace(request, via=at or _PROCESSES[0]), plan)

    def _step(self, job: Job, fate: Any, plan: list[Plan]) -> bool:
        moved = super()._step(job, fate, plan)
        for side in self.engine.begun:
            self._begin("hold", self.engine.hold(side))
        self.engine.begun.clear()
        return moved

    @precondition(lambda self: bool(self.engine.sides))
    @rule(seconds=st.sampled_from((0.0, 3.0, 6.0)))
    def holds_are_renewed(self, seconds: float) -> None:
        self.world.clock.advance(seconds)
        for side in self.engine.sides.values():
            self.engine.renew(side, LEASE)

    @precondition(lambda self: bool(self.engine.sides))
    @rule(last=st.booleans())
    def a_side_dies(self, last: bool) -> None:
        list(self.engine.sides.values())[-1 if last else 0].alive = False

    @precondition(lambda self: bool(self.engine.sides))
    @rule()
    def a_holder_lets_go(self) -> None:
        for side in self.engine.sides.values():
            side.letting_go = True

    @precondition(lambda self: any(job.name == "hold" for job in self.jobs))
    @rule(plan=st.lists(st.sampled_from((Action.EXECUTE, Action.FINISH)), max_size=3))
    def holders_look(self, plan: list[Plan]) -> None:
        self._see_to_holds(plan)

    def _see_to_holds(self, plan: list[Plan]) -> None:
        for job in [job for job in self.jobs if job.name == "hold"]:
            for _ in range(3):
                if not job.over:
                    self._drive(job, [])
        for job in [job for job in self.jobs if job.name == "wake"]:
            self._drive(job, list(plan))

    def teardown(self) -> None:
        """What waits is looked after by a living holder; what was answered goes on without one."""
        self._see_to_holds([])
        if forgotten := [s for s in self.engine.sides.values() if s.alive and s.left]:
            raise Violation(f"{forgotten} wait for ever")
        for job in self.jobs:
            job.crash()
        self.jobs.clear()
        self.engine.sides.clear()
        self.world.clock.advance(LEASE)
        for _ in range(2):
            self._drive(self._begin("sweep", self.engine.sweep()), [Action.EXECUTE, Action.FINISH])
            self.world.clock.advance(LEASE)
        loaded = self.world.look()
        if loaded.status is ThreadStatus.INTERRUPTED and loaded.hold_over:
            raise Violation("nobody notes that a hold is over")
        if loaded.only_answered:
            raise Violation("an answer that was acknowledged is carried out by nobody")
        super().teardown()
