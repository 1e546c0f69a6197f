"""A small engine: what a process does with an input, decision by decision, write by write.

It has neither messages nor a wire, but every step on which the contract rests: look, admit,
claim with compare-and-swap, execute under the lease, store results, end, look for one's own
ending when fenced. The broken variants in `mutants.py` override one method each.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from agui_bridge.errors import Conflict
from agui_bridge.protocol.answers.decisions import (
    Answer,
    Approve,
    decide,
)
from agui_bridge.protocol.contract.admission import admit
from agui_bridge.protocol.contract.end_transitions import FinalWrite, end_run, reopen
from agui_bridge.protocol.contract.requests import (
    AskAgain,
    Hold,
    Join,
    Recover,
    Reject,
    Replay,
    Request,
    Resume,
    Ruling,
    Start,
)
from agui_bridge.protocol.contract.transitions import (
    Change,
    claim_resume,
    claim_start,
    close_unanswered,
    flush,
    hold,
    recover,
)
from agui_bridge.protocol.threads.records import (
    Batch,
    Interrupt,
    Loaded,
    RecordedAnswer,
    RunLease,
    StopRequest,
    ThreadRecord,
    ThreadStatus,
)
from agui_bridge.stores.base import ABSENT, Committed, Expected
from tests.model.operations import (
    Act,
    Action,
    Commit,
    Delete,
    Load,
    Operation,
    Pause,
    Plan,
    Process,
    RequestStop,
    Wait,
)
from tests.model.questions import raise_question
from tests.model.world import KEY, Execution, Violation, World, exactly

__all__ = ["LEASE", "Engine"]

LEASE = 10.0
"""Seconds that a lease lasts."""


@dataclass
class _Run:
    """A claimed run as its owner knows it."""

    token: str
    record: ThreadRecord
    claimed: dict[str, Interrupt]
    todo: dict[str, Approve | Answer]
    acted: bool = False
    done: list[str] = field(default_factory=list)
    expired: frozenset[str] = frozenset()
    stopping: bool = False

    @property
    def lease_ends_at(self) -> float:
        assert self.record.run is not None
        return self.record.run.ends_at


class Engine:
    """Carries inputs out. Each method that is a process may be stepped, stopped and killed."""

    def __init__(self, world: World) -> None:
        self.world = world

    # --- what the broken variants override ---

    def admit(self, loaded: Loaded, request: Request) -> Ruling:
        """Decide."""
        return admit(loaded, request)

    def recover(self, loaded: Loaded) -> Change:
        """Make the thread of a lost run idle."""
        return recover(loaded)

    def may_execute(self, lease_ends_at: float) -> bool:
        """Whether the lease still holds, by the owner's own clock."""
        return self.world.now < lease_ends_at

    def owner_guard(self, run: _Run) -> Expected:
        """What guards an owner's write."""
        return Expected(lease=run.token)

    def claims_blindly(self) -> bool:
        """Whether claims are written without compare-and-swap."""
        return False

    def fresh_version(self) -> int:
        """The version that a new thread begins with: random, so never the same again."""
        return 1000 * int(self.world.mint(""))

    def close_stopped(self, loaded: Loaded) -> Change | None:
        """Close an interrupted thread's batch because of a stop."""
        return close_unanswered(loaded, "stopped", "stopper")

    # --- an input ---

    def answer(self, request: Request) -> Process:
        """Admit an input until something other than waiting or recovering comes of it."""
        auto = request.auto_resume
        entries = request.entries or (auto.entries if auto is not None else ())
        heard = self.world.ledger.sent if request.entries else self.world.ledger.said
        if request.entries or (auto is not None and auto.follows_ask):
            for entry in entries:
                arrived = (entry.answer, self.world.now)
                heard.setdefault(entry.interrupt_id, []).append(arrived)
        ids = tuple(dict.fromkeys(entry.interrupt_id for entry in entries))
        while True:
            loaded = yield Load(ids)
            decision = self.admit(loaded, request)
            try:
                match decision:
                    case Recover():
                        yield self._commit(loaded, self.recover(loaded), "recover")
                    case Join():
                        yield Wait()
                    case Start() | Resume():
                        run = yield from self._claim(loaded, decision, rewinds=request.skip_unknown)
                        return (yield from self._carry_out(run, request))
                    case Hold(answers):
                        change = hold(loaded, answers, "client")
                        if change.interrupts:
                            yield self._commit(loaded, change, "hold")
                        self.world.ledger.held |= answers
                        self.world.ledger.reopened -= answers.keys()
                        return "held"
                    case Replay():
                        self._check_replay(loaded, request)
                        return "replay"
                    case AskAgain():
                        return "asked again"
                    case Reject(code):
                        if code == "INTERRUPT_PENDING" and auto is not None:
                            raise Violation("a message that was not understood met an error")
                        return code
            except Conflict:
                continue

    def _check_replay(self, loaded: Loaded, request: Request) -> None:
        """What is told as done must be what this client sent, to the letter."""
        for entry in request.entries:
            ask = loaded.interrupts.get(entry.interrupt_id)
            if ask is None:
                continue  # left out by skip_unknown
            receipt = loaded.receipts[ask.batch]
            if receipt.outcome == "expired":
                continue
            given = receipt.answers[ask.id]
            if (given.status, exactly(given.payload)) != (
                entry.answer.status,
                exactly(entry.answer.payload),
            ):
                raise Violation(f"{entry} was told as done, but {given} was")

    def _commit(self, loaded: Loaded, change: Change, why: str, *, blind: bool = False) -> Commit:
        expected = Expected(version=loaded.record.version) if loaded.record else ABSENT
        return Commit(change, expected, self.world.mint("w"), why, blind=blind)

    def _claim(
        self, loaded: Loaded, decision: Start | Resume, *, rewinds: bool
    ) -> Generator[Operation, Committed, _Run]:
        lease = RunLease("run", self.world.mint("lease"), 0.0, "client")
        expired: frozenset[str] = frozenset()
        if isinstance(decision, Start):
            change = claim_start(
                loaded,
                KEY,
                lease,
                fresh_version=self.fresh_version(),
                closes_expired=decision.closes_expired,
                superseded=("an answer",) if rewinds else (),
                state=None,
            )
            if rewinds:
                self.world.ledger.rewound.add(lease.token)
        else:
            change = claim_resume(loaded, decision, lease, state=None)
            expired = decision.expired
        change = replace(change, lease_seconds=LEASE)
        committed = yield self._commit(loaded, change, "claim", blind=self.claims_blindly())
        claimed = {} if isinstance(decision, Start) else {ask.id: ask for ask in change.interrupts}
        decisions = {
            ask.id: decide(ask, ask.answer or RecordedAnswer("cancelled"), expired=id in expired)
            for id, ask in claimed.items()
        }
        todo = {id: made for id, made in decisions.items() if isinstance(made, Approve | Answer)}
        return _Run(lease.token, committed.record, claimed, todo, expired=expired)

    # --- a run ---

    def _carry_out(self, run: _Run, request: Request) -> Process:
        """Let the agent act until it ends, or until the lease is lost."""
        ending: FinalWrite | Literal["undelivered"] | None = None
        try:
            while ending is None:
                ending = yield from self._turn(run, (yield Act()))
            return (yield from self._end(run, ending, request))
        except Conflict:
            return (yield from self._after_fence(run, request))

    def _turn(
        self, run: _Run, action: Plan
    ) -> Generator[Operation, Any, FinalWrite | Literal["undelivered"] | None]:
        match action:
            case Action.EXECUTE if run.todo and not run.stopping:
                if not self.may_execute(run.lease_ends_at):
                    raise Conflict("the lease is over by the owner's own clock")
                id, made = next(iter(run.todo.items()))
                del run.todo[id]
                run.acted = True
                if isinstance(made, Approve):
                    run.done.append(id)
                given = made.args if isinstance(made, Approve) else made.payload
                self.world.ledger.executions.append(Execution(id, given, run.token))
            case Action.FLUSH | Action.RENEW:
                yield from self._store_results(run, renew=action is Action.RENEW)
            case Action.NOTICE:
                record = (yield Load()).record
                if record is not None and record.run is not None:
                    mine = record.run.token == run.token
                    run.stopping |= mine and record.stop_requested is not None
            case Action.FINISH:
                return FinalWrite("stopped" if run.stopping else "finished")
            case Action.FAIL:
                return FinalWrite("failed", code="AGENT_ERROR")
            case Action.UNDELIVERED:
                # Only true when nothing was done; an agent that did something has failed.
                pristine = run.claimed and not run.acted and run.record.batch is not None
                settled = any(a.status != "claimed" for a in run.claimed.values())
                if pristine and not settled:
                    return "undelivered"
                return FinalWrite("failed", code="UPSTREAM_ERROR")
            case Pause(kinds):
                batch = self.world.mint("batch")
                asks = (
                    raise_question(self.world, kind, batch, at) for at, kind in enumerate(kinds)
                )
                return FinalWrite("finished", batch=Batch(batch), interrupts=tuple(asks))
        return None

    def _store_results(self, run: _Run, *, renew: bool) -> Generator[Operation, Committed, None]:
        settled = [run.claimed[id] for id in run.done if run.claimed[id].status == "claimed"]
        change = flush(run.record, messages=(), state=None, settled=settled, now=self.world.now)
        if renew:
            change = replace(change, lease_seconds=LEASE)
        run.record = (yield self._own(run, change, "renew" if renew else "flush")).record
        run.claimed |= {ask.id: ask for ask in change.interrupts}

    def _own(self, run: _Run, change: Change, why: str) -> Commit:
        return Commit(change, self.owner_guard(run), self.world.mint("w"), why, owner=run.token)

    def _end(
        self, run: _Run, ending: FinalWrite | Literal["undelivered"], request: Request
    ) -> Process:
        claimed, now = list(run.claimed.values()), self.world.now
        if ending == "undelivered":
            yield self._own(
                run, reopen(run.record, claimed, memo=run.record.memo, now=now), "reopen"
            )
            return "UPSTREAM_ERROR"
        ending = replace(ending, memo=run.token)
        change = end_run(
            run.record, claimed, ending, state=None, told=run.record.closed, now=now,
            expired=run.expired,
        )  # fmt: skip
        yield self._own(run, change, "end")
        return self._tell(ending.outcome, request)

    def _after_fence(self, run: _Run, request: Request) -> Process:
        """Look whether the end was stored after all: only its acknowledgement was lost then."""
        loaded = yield Load(tuple(run.claimed))
        record = loaded.record
        if record is not None and record.ended is not None and record.ended.token == run.token:
            return self._tell(record.ended.outcome, request)
        for receipt in loaded.receipts.values():
            if receipt.lease == run.token:
                return self._tell(receipt.outcome, request)
        return "RUN_INDETERMINATE"

    def _tell(self, outcome: str, request: Request) -> str:
        if outcome == "finished" and request.entries and not request.skip_unknown:
            self.world.ledger.finished.append(request.entries)
        return outcome

    # --- stop, delete, sweep ---

    def stop(self, force: bool) -> Process:
        """Stop what the thread does, and wait until it is over."""
        token: str | None = None
        while True:
            loaded = yield Load()
            record = loaded.record
            if record is None:
                return "no such thread"
            ended = record.ended
            if token is not None and not (record.run is not None and record.run.token == token):
                if ended is not None and ended.token == token and ended.outcome == "stopped":
                    self.world.ledger.stopped_runs.add(token)
                    return "stopped"
                return "ended otherwise"
            try:
                if record.run is not None and record.run.ends_at <= loaded.now:
                    yield self._commit(loaded, self.recover(loaded), "recover")
                elif record.run is not None:
                    token = record.run.token
                    yield RequestStop(StopRequest(token, force, loaded.now + 30.0, "stopper"))
                    yield Wait()
                elif loaded.status is ThreadStatus.INTERRUPTED:
                    change = self.close_stopped(loaded)
                    if change is not None:
                        yield self._commit(loaded, change, "stop")
                    asks = {ask.id for ask in loaded.batch_interrupts()}
                    self.world.ledger.stopped_asks |= asks
                    return "stopped"
                else:
                    return "nothing to stop"
            except Conflict:
                continue

    def delete(self) -> Process:
        """Delete the thread; what it runs is stopped first."""
        while True:
            loaded = yield Load()
            record = loaded.record
            if record is None:
                return "deleted"
            try:
                if record.run is None:
                    yield Delete(Expected(version=record.version))
                elif record.run.ends_at <= loaded.now:
                    yield self._commit(loaded, self.recover(loaded), "recover")
                else:
                    yield RequestStop(StopRequest(record.run.token, True, loaded.now, "deleter"))
                    yield Wait()
            except Conflict:
                continue

    def sweep(self) -> Process:
        """Look once for a lost run or an expired batch."""
        loaded = yield Load()
        record, asks = loaded.record, loaded.batch_interrupts()
        try:
            if record is None:
                return "nothing"
            if record.run is not None and record.run.ends_at <= loaded.now:
                yield self._commit(loaded, self.recover(loaded), "recover")
            elif loaded.status is ThreadStatus.INTERRUPTED and all(
                ask.expired(loaded.now) for ask in asks
            ):
                yield self._commit(loaded, close_unanswered(loaded, "expired", "b"), "expire")
        except Conflict:
            return "somebody was first"
        return "swept"
