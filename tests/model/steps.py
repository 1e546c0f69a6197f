"""Runs with checkpoints in the model: acts are stored before and after, and lost runs taken up.

What they did is counted outside of the store, by the keys that acts had.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any, ClassVar, Literal

from agui_bridge.errors import Conflict
from agui_bridge.protocol.answers.decisions import Approve, decide
from agui_bridge.protocol.contract.end_transitions import FinalWrite
from agui_bridge.protocol.contract.lost_transitions import take_up
from agui_bridge.protocol.contract.requests import Request
from agui_bridge.protocol.contract.transitions import Change, flush
from agui_bridge.protocol.threads.checkpoint import BegunAct, Checkpoint
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import InterruptStatus, RecordedAnswer
from tests.model.engine import LEASE, Engine, _goes_on, _Run
from tests.model.machine import BridgeMachine
from tests.model.operations import Action, Operation, Plan, Process
from tests.model.world import TIME, Execution, Violation, World

MOST = 3
"""Takeovers without a result in between."""


class Stepping(Engine):
    """An engine whose runs all have checkpoints. `step_mutants.py` overrides one method each."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        # Outside of the store: which lease followed which, how often in vain, and when the next.
        self.before: dict[str, str] = {}
        self.in_vain: dict[str, int] = {}
        self.next_at: dict[str, float] = {}
        self.keys: dict[str, str] = {}
        self.must_stop: set[str] = set()

    # --- what the broken variants override ---

    def stores_begun(self) -> bool:
        """Whether an act is stored before it begins."""
        return True

    def key_of(self, known: Any) -> str:
        """The key of an act that begins, perhaps again."""
        return str(known["key"]) if known is not None else self.world.mint("key")

    def takes_blindly(self) -> bool:
        """Whether a lost run is taken up without compare-and-swap."""
        return False

    def take_up(self, loaded: Loaded, token: str) -> Change:
        """What a takeover writes."""
        return take_up(loaded, token, LEASE)

    def forgets_attempts(self, point: Checkpoint) -> bool:
        """Whether the attempts are counted anew with this write, which has no result."""
        return False

    def notices_stop(self, record: Any) -> bool:
        """Whether a takeover heeds what was asked of the lost run."""
        return record.stop_requested is not None

    # --- the engine ---

    def kept(self, claim: Change) -> Change:
        return replace(claim, record=replace(claim.record, checkpoint=Checkpoint(input={})))

    def recover(self, loaded: Loaded) -> Change:
        record = loaded.record
        assert record is not None
        point, run = record.checkpoint, record.run
        if point is not None and run is not None and run.term.is_over(loaded.now):
            may = all(act.idempotent for act in point.begun)
            asked = record.stop is not None and record.stop.token in self.lineage(run.token)
            if self.in_vain.get(run.token, 0) >= MOST:
                self.world.ledger.given_up.add(run.token)
            elif may and not (asked and point.begun):
                raise Violation("a run was given up that could go on")
        return super().recover(loaded)

    def lineage(self, token: str) -> set[str]:
        """A run's lease tokens."""
        found = {token}
        while (earlier := self.before.get(token)) is not None:
            found.add(token := earlier)
        return found

    def go_on(self, loaded: Loaded, request: Request) -> Process:
        record, token = loaded.record, self.world.mint("lease")
        assert record is not None and record.run is not None and record.checkpoint is not None
        lost = record.run.token
        commit = self._commit(
            loaded, self.take_up(loaded, token), "take up", blind=self.takes_blindly()
        )
        committed = yield commit
        self._note_taken(lost, token, committed.record.stop)
        standing = record.checkpoint.standing or {}
        claimed = {ask.id: ask for ask in loaded.batch_interrupts()}
        decisions = {}
        for id, ask in claimed.items():
            at = next(e.at for e in reversed(ask.changes) if e.status is InterruptStatus.CLAIMED)
            answer = ask.answer or RecordedAnswer("cancelled")
            decisions[id] = decide(ask, answer, expired=ask.expired(at))
        left = {id for id in claimed if not standing.get(id, {}).get("done")}
        todo = {id: d for id, d in decisions.items() if id in left and _goes_on(claimed[id], d)}
        expired = frozenset(i for i, d in decisions.items() if getattr(d, "cause", "") == "expired")
        run = _Run(token, committed.record, claimed, todo, expired=expired, acted=bool(standing))
        run.stopping = self.notices_stop(committed.record)
        return (yield from self._carry_out(run, request))

    def _note_taken(self, lost: str, token: str, stop: Any) -> None:
        if lost in self.before.values():
            raise Violation("a lost run was taken up twice")
        tokens = self.lineage(lost)
        asked = stop is not None and stop.token in tokens
        if self.world.now < self.next_at.get(lost, 0.0) and not asked:
            raise Violation("a lost run was taken up before its time")
        self.before[token] = lost
        self.in_vain[token] = self.in_vain.get(lost, 0) + 1
        if self.in_vain[token] > MOST:
            raise Violation("a run is taken up without end")
        self.next_at[token] = self.world.now + LEASE + 2.0 ** self.in_vain[token]
        if asked:
            self.must_stop.add(token)

    def _turn(
        self, run: _Run, action: Plan, *, looked: bool
    ) -> Generator[Operation, Any, FinalWrite | Literal["undelivered"] | None]:
        if action is not Action.EXECUTE or run.stopping or not run.todo:
            return (yield from super()._turn(run, action, looked=looked))
        id, made = next(iter(run.todo.items()))
        point = run.record.checkpoint
        assert point is not None
        standing = dict(point.standing or {})
        known = standing.get(id)
        act: dict[str, Any] = {"key": self.key_of(known), "done": False}
        standing[id] = act
        if known is None and self.stores_begun():
            idempotent = int(id.strip("abcdefghijklmnopqrstuvwxyz") or 0) % 2 == 0
            begun = (BegunAct(id, "", act["key"], idempotent),)
            yield from self._stand(run, standing, begun)
        if not self.may_execute(run.lease_ends_at):
            raise Conflict("the lease is over by the owner's own clock")
        if run.token in self.must_stop:
            raise Violation("a stop was forgotten by the takeover")
        run.acted = True
        given = made.args if isinstance(made, Approve) else getattr(made, "payload", TIME)
        # The service that an act goes to knows its key.
        if self.keys.setdefault(id, act["key"]) != act["key"] or not any(
            done.interrupt_id == id for done in self.world.ledger.executions
        ):
            self.world.ledger.executions.append(Execution(id, given, run.token))
        del run.todo[id]
        if isinstance(made, Approve):
            run.done.append(id)
        yield from self._stand(run, {**standing, id: {**act, "done": True}}, (), has_result=True)
        self.in_vain[run.token] = 0
        return None

    def _stand(
        self,
        run: _Run,
        standing: dict[str, Any],
        begun: tuple[BegunAct, ...],
        *,
        has_result: bool = False,
    ) -> Generator[Operation, Any, None]:
        point = run.record.checkpoint
        assert point is not None
        result = has_result or self.forgets_attempts(point)
        settled = [run.claimed[id] for id in run.done if run.claimed[id].status == "claimed"]
        change = flush(
            run.record,
            messages=(),
            state=None,
            settled=settled if has_result else (),
            checkpoint=point.reached(standing, begun, has_result=result),
            now=self.world.now,
        )
        run.record = (yield self._own(run, change, "stand")).record
        run.claimed |= {ask.id: ask for ask in change.interrupts}


class SteppingMachine(BridgeMachine):
    """The machine with runs that have checkpoints: at the end, each run ends."""

    engine_class: ClassVar[type[Engine]] = Stepping

    def teardown(self) -> None:
        for job in self.jobs:
            job.crash()
        self.jobs.clear()
        for _ in range(6):
            self.world.clock.advance(100.0)
            plan: list[Plan] = [*[Action.EXECUTE] * 4, Action.FINISH]
            for _ in range(3):
                self._drive(self._begin("sweep", self.engine.sweep()), plan)
        record = self.world.look().record
        if record is not None and record.run is not None:
            raise Violation(f"a run never ends: {record}")
        super().teardown()
