"""The same machine where runs leave work with their framework, and sweepers look after it."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from agui_bridge.protocol.contract.requests import Request
from agui_bridge.protocol.threads.records import Principal, ThreadStatus
from tests.model.clients import people, plans
from tests.model.machine import BridgeMachine
from tests.model.operations import Act, Action, AskKind, Leave, Pause, Plan
from tests.model.watches import Violation

__all__ = ["WatchingMachine"]

_QUESTION = Pause((AskKind(),))


class WatchingMachine(BridgeMachine):
    """Any number of processes over one thread, whose runs leave work."""

    @precondition(lambda self: self.world.look().status is ThreadStatus.IDLE)
    @rule(who=people, pauses=st.booleans())
    def a_run_leaves_work(self, who: Principal, pauses: bool) -> None:
        end: Plan = _QUESTION if pauses else Action.FINISH
        self._talk(Request(has_new_message=True, principal=who), [Leave(), end])

    @precondition(lambda self: any(isinstance(job.operation, Act) for job in self.jobs))
    @rule(work=st.booleans(), plan=plans)
    def agent_leaves_work(self, work: bool, plan: list[Plan]) -> None:
        job = next(job for job in self.jobs if isinstance(job.operation, Act))
        self._drive(job, [Leave(work), *plan])

    @precondition(lambda self: self._is_left())
    @rule(ahead=st.sampled_from((0, 1, 1, 2, 3, 4)), pause=st.sampled_from((1.0, 60.0)))
    def somebody_looks(self, ahead: int, pause: float) -> None:
        self.world.clock.advance(pause)
        self._head_start(self._begin("sweep", self.engine.sweep()), ahead)

    def teardown(self) -> None:
        """What is left on a thread that does nothing is asked in the end."""
        for job in self.jobs:
            job.crash()
        self.jobs.clear()
        self.world.clock.advance(60.0)
        self._drive(self._begin("sweep", self.engine.sweep()), [])
        record = self.world.look().record
        self.world.clock.advance(60.0)
        if self._is_left() and record is not None and record.status is ThreadStatus.IDLE:
            self._drive(self._begin("sweep", self.engine.sweep()), [_QUESTION])
            if self.world.look().status is not ThreadStatus.INTERRUPTED:
                raise Violation(f"nobody asks what is left: {record.watch}")
        super().teardown()

    def _is_left(self) -> bool:
        record = self.world.look().record
        return record is not None and record.watch is not None
