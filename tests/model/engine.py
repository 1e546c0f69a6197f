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
    Cancel,
    Decision,
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
    TakeUp,
    Wake,
)
from agui_bridge.protocol.contract.transitions import (
    Change,
    claim_resume,
    claim_start,
    flush,
    hold,
)
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.record_parts import Watch
from agui_bridge.protocol.threads.records import (
    Batch,
    Interrupt,
    Json,
    RecordedAnswer,
    RunLease,
    ThreadRecord,
)
from agui_bridge.stores.base import Committed, Expected
from tests.model.interventions import Interventions
from tests.model.judging import check_refusal, check_replay, check_votes
from tests.model.operations import (
    Act,
    Action,
    Commit,
    Leave,
    Load,
    Operation,
    Pause,
    Plan,
    Process,
    Wait,
)
from tests.model.questions import raise_question
from tests.model.watches import askers_left, check_look
from tests.model.world import KEY, TIME, Execution, Violation

__all__ = ["LEASE", "Engine"]

LEASE = 10.0
"""Seconds that a lease lasts."""


@dataclass
class _Run:
    """A claimed run as its owner knows it."""

    token: str
    record: ThreadRecord
    claimed: dict[str, Interrupt]
    todo: dict[str, Decision]
    acted: bool = False
    done: list[str] = field(default_factory=list)
    expired: frozenset[str] = frozenset()
    stopping: bool = False
    left: Json = None

    @property
    def lease_ends_at(self) -> float:
        assert self.record.run is not None
        return self.record.run.ends_at


def _goes_on(ask: Interrupt, made: Decision) -> bool:
    """Whether an agent does something for a decision: that of a timer is that its time has come."""
    return isinstance(made, Approve | Answer) or (ask.is_timer and made == Cancel("expired"))


class Engine(Interventions):
    """Carries inputs out. Each method that is a process may be stepped, stopped and killed."""

    # --- what the broken variants override ---

    def admit(self, loaded: Loaded, request: Request) -> Ruling:
        """Decide.

        Raises:
            Violation: there is no decision, which the contract promises for every input.
        """
        try:
            return admit(loaded, request)
        except Exception as fault:
            raise Violation(f"an input is neither admitted nor refused: {fault!r}") from fault

    def may_execute(self, lease_ends_at: float) -> bool:
        """Whether the lease still holds, by the owner's own clock."""
        return self.world.now < lease_ends_at

    def owner_guard(self, run: _Run) -> Expected:
        """What guards an owner's write."""
        return Expected(lease=run.token)

    def claims_blindly(self) -> bool:
        """Whether claims are written without compare-and-swap."""
        return False

    def notes_at_once(self) -> bool:
        """Whether what a run leaves is stored before it goes on."""
        return True

    def fresh_version(self) -> int:
        """The version that a new thread begins with: random, so never the same again."""
        return 1000 * int(self.world.mint(""))

    # --- an input ---

    def answer(self, request: Request) -> Process:
        """Admit an input until something other than waiting or recovering comes of it."""
        auto = request.auto_resume
        entries = request.entries or (auto.entries if auto is not None else ())
        heard = self.world.ledger.sent if request.entries else self.world.ledger.said
        if request.entries or (auto is not None and auto.follows_ask):
            for entry in entries:
                arrived = (entry.answer, self.world.now, request.principal)
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
                    case Wake():
                        # Another task of the process, which is waited for.
                        self.woken.append(self.time_has_come(loaded))
                        yield Wait()
                    case TakeUp() if request.takes_up:
                        return (yield from self.go_on(loaded, request))
                    case TakeUp():
                        self.woken.append(self.somebody_finds_it_lost())
                        yield Wait()
                    case Start() | Resume():
                        run = yield from self._claim(loaded, decision, request)
                        return (yield from self._carry_out(run, request))
                    case Hold(answers):
                        check_votes(loaded, request, decision)
                        change = hold(loaded, decision, request.principal.actor)
                        if change.interrupts:
                            yield self._commit(loaded, change, "hold")
                        self.world.ledger.held |= answers
                        self.world.ledger.note_votes(request)
                        self.world.ledger.reopened -= answers.keys()
                        return "held"
                    case Replay():
                        check_replay(loaded, request)
                        return "replay"
                    case AskAgain():
                        return "asked again"
                    case Reject(code):
                        check_refusal(loaded, request, decision)
                        if code == "INTERRUPT_PENDING" and auto is not None:
                            raise Violation("a message that was not understood met an error")
                        return code
            except Conflict:
                continue

    def _claim(
        self, loaded: Loaded, decision: Start | Resume, request: Request
    ) -> Generator[Operation, Committed, _Run]:
        rewinds, actor = request.skip_unknown, request.principal.actor
        lease = RunLease("run", self.world.mint("lease"), 0.0, actor)
        expired: frozenset[str] = frozenset()
        askers: tuple[str, ...] = (actor,)
        if request.wakes and isinstance(decision, Start):
            raise Violation("time began a run that did not sleep")
        if request.looks:
            check_look(loaded, decision)
            askers = askers_left(loaded)
        if isinstance(decision, Start):
            change = claim_start(
                loaded,
                KEY,
                lease,
                fresh_version=self.fresh_version(),
                closes_expired=decision.closes_expired,
                superseded=("an answer",) if rewinds else (),
                state=None,
                askers=askers,
            )
            if rewinds:
                self.world.ledger.rewound.add(lease.token)
        else:
            before = loaded.record.askers if loaded.record is not None else ()
            joined = (actor,) if request.entries and request.has_new_message else ()
            askers = tuple(dict.fromkeys((*before, *joined)))
            change = claim_resume(loaded, decision, lease, state=None, askers=askers)
            expired = decision.expired
        change = self.kept(replace(change, lease_seconds=LEASE))
        committed = yield self._commit(loaded, change, "claim", blind=self.claims_blindly())
        claimed = {} if isinstance(decision, Start) else {ask.id: ask for ask in change.interrupts}
        decisions = {
            ask.id: decide(ask, ask.answer or RecordedAnswer("cancelled"), expired=id in expired)
            for id, ask in claimed.items()
        }
        todo = {id: made for id, made in decisions.items() if _goes_on(claimed[id], made)}
        watch = committed.record.watch
        left = watch.note if watch is not None else None
        return _Run(lease.token, committed.record, claimed, todo, expired=expired, left=left)

    # --- a run ---

    def _carry_out(self, run: _Run, request: Request) -> Process:
        """Let the agent act until it ends, or until the lease is lost."""
        ending: FinalWrite | Literal["undelivered"] | None = None
        try:
            while ending is None:
                ending = yield from self._turn(run, (yield Act()), looked=request.looks)
            return (yield from self._end(run, ending, request))
        except Conflict:
            return (yield from self._after_fence(run, request))

    def _turn(
        self, run: _Run, action: Plan, *, looked: bool
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
                given = made.args if isinstance(made, Approve) else getattr(made, "payload", TIME)
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
            case Leave(work):
                run.left = self.world.mint("work") if work else None
                if work and not run.stopping and self.notes_at_once():
                    yield from self._note(run, looked=looked)
                self.world.ledger.noted[run.token] = run.left if not run.stopping else None
            case Pause(kinds):
                batch = self.world.mint("batch")
                asks = (
                    raise_question(self.world, kind, batch, at, run.record.askers)
                    for at, kind in enumerate(kinds)
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

    def _note(self, run: _Run, *, looked: bool) -> Generator[Operation, Committed, None]:
        given = (run.record.watch, run.left, run.record.askers, self.world.now)
        watch = Watch.after(*given, looked=looked)
        change = flush(run.record, messages=(), state=None, watch=watch, now=self.world.now)
        run.record = (yield self._own(run, change, "note")).record

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
        before = run.record
        given = (before.watch, run.left, before.askers, now)
        watch = Watch.after(*given, looked=request.looks) if not run.stopping else None
        ending = replace(ending, memo=run.token, watch=watch)
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
            self.world.ledger.finished.append((request.entries, request.principal))
        return outcome
