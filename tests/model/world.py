"""The world of the model: the store, the clock, the processes, and what came to pass.

The ledger is kept outside of the store, by what clients sent and were told and by what was
truly executed. The contract's promises are checked against it after every step.
"""

from __future__ import annotations

import json
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from agui_bridge.errors import Conflict
from agui_bridge.protocol.contract.requests import Entry, Request
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    Interrupt,
    Json,
    Principal,
    Receipt,
    RecordedAnswer,
    ThreadKey,
    Vote,
)
from agui_bridge.stores.base import Committed, Expected
from agui_bridge.stores.memory import MemoryStore
from tests.model.operations import (
    Act,
    Commit,
    Delete,
    Fate,
    Load,
    Operation,
    Plan,
    Process,
    RequestStop,
    Wait,
)
from tests.model.watches import Violation, check_watch
from tests.support.clock import FakeClock

__all__ = [
    "KEY",
    "TIME",
    "Execution",
    "Job",
    "Ledger",
    "Violation",
    "World",
    "exactly",
    "finish_now",
]

KEY = ThreadKey("scope", "agent", "thread")

TIME = "its time"
"""What a run goes on with that slept."""

T = TypeVar("T")


def exactly(value: Json) -> str:
    """The value as JSON text: true is not 1, 1 is not 1.0, the order of keys is nothing."""
    return json.dumps(value, sort_keys=True)


def finish_now(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits, as those of the memory store do."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise AssertionError("the memory store waits for nothing")


Arrived = tuple[RecordedAnswer, float, Principal]


@dataclass(frozen=True)
class Execution:
    """A gated tool call that was truly executed, or an answer that was gone on with."""

    interrupt_id: str
    args: Json
    token: str


@dataclass
class Ledger:
    """What clients sent and were told, and what was executed.

    Attributes:
        sent: what clients answered, when it arrived, and from whom.
        said: the same of messages that were read as answers and stood after the question.
        finished: resumes of which a client was told that they ended well, and who sent them.
        voted: votes that a client was told are kept, by interrupt and actor.
        cast: by interrupt, the votes as they were stored, one after the other.
        held: answers that a client was told are kept until the rest is here.
        stopped_runs: lease tokens of runs that a client was told are stopped.
        stopped_asks: interrupts of batches that a client was told are stopped.
        asks: every interrupt that was ever raised, as first stored.
        reopened: interrupts whose batch was opened again because nothing was delivered.
        rewound: lease tokens of runs before which a client went back.
        looks: the looks that were taken, by what was left and how often it had been looked after.
        dropped: what runs had left, and nobody is to look after any more.
        given_up: lease tokens of runs that were taken up as often as may be.
        noted: what runs have noted that they leave, by their tokens.
    """

    sent: dict[str, list[Arrived]] = field(default_factory=dict)
    said: dict[str, list[Arrived]] = field(default_factory=dict)
    executions: list[Execution] = field(default_factory=list)
    finished: list[tuple[tuple[Entry, ...], Principal]] = field(default_factory=list)
    held: dict[str, RecordedAnswer] = field(default_factory=dict)
    voted: dict[tuple[str, str], RecordedAnswer] = field(default_factory=dict)
    cast: dict[str, list[Vote]] = field(default_factory=dict)
    stopped_runs: set[str] = field(default_factory=set)
    stopped_asks: set[str] = field(default_factory=set)
    asks: dict[str, Interrupt] = field(default_factory=dict)
    reopened: set[str] = field(default_factory=set)
    rewound: set[str] = field(default_factory=set)
    looks: set[tuple[Json, int]] = field(default_factory=set)
    dropped: set[Json] = field(default_factory=set)
    given_up: set[str] = field(default_factory=set)
    noted: dict[str, Json] = field(default_factory=dict)

    def forget_promises(self) -> None:
        """The thread was deleted: what was told of it holds no longer."""
        self.finished.clear()
        self.held.clear()
        self.voted.clear()

    def note_votes(self, request: Request) -> None:
        """Note that a client was told that its answers are kept."""
        for entry in request.entries:
            self.voted[entry.interrupt_id, request.principal.actor] = entry.answer

    def note_cast(self, ask: Interrupt, before: Interrupt | None) -> None:
        """Note the votes that a commit has added to a question."""
        known = before.votes if before is not None else ()
        self.cast.setdefault(ask.id, []).extend(v for v in ask.votes if v not in known)


@dataclass
class Job:
    """One process at work on one input, and the operation that it is about to do.

    Attributes:
        wrote: what its commits were for, as far as it knows of them.
        told: what it told its client, once it is over.
    """

    name: str
    process: Process
    operation: Operation | None = None
    wrote: list[str] = field(default_factory=list)
    told: str | None = None

    def __post_init__(self) -> None:
        self._resume(None)

    @property
    def over(self) -> bool:
        """Whether it has ended, or died."""
        return self.operation is None

    def crash(self) -> None:
        """Die where it stands, without another word."""
        self.process.close()
        self.operation = None

    def give(self, result: object) -> None:
        """Let it go on with the result of its operation."""
        self._resume(result)

    def refuse(self, error: Conflict) -> None:
        """Let it go on with its operation refused."""
        try:
            self.operation = self.process.throw(error)
        except StopIteration as done:
            self.operation, self.told = None, done.value

    def _resume(self, result: object) -> None:
        try:
            self.operation = self.process.send(result)
        except StopIteration as done:
            self.operation, self.told = None, done.value


class World:
    """One thread in one store, and everything that happens to it."""

    def __init__(self) -> None:
        self.clock = FakeClock(1_000_000.0)
        self.store = MemoryStore(self.clock.time)
        self.ledger = Ledger()
        self._ids = 0
        # Between two writes the promises and the rules look at the same things many times over.
        self._looks: dict[tuple[float, tuple[str, ...]], Loaded] = {}
        self._rows: dict[str, Interrupt] | None = None

    def mint(self, prefix: str) -> str:
        """A new id; in the model they only have to be unique."""
        self._ids += 1
        return f"{prefix}{self._ids}"

    @property
    def now(self) -> float:
        """The time, the same for the store and for every process."""
        return self.clock.time()

    def look(self, ids: tuple[str, ...] = ()) -> Loaded:
        """See the thread as it is, outside of any process."""
        seen = (self.now, ids)
        if seen not in self._looks:
            self._looks[seen] = self._load(ids)
        return self._looks[seen]

    def rows(self) -> dict[str, Interrupt]:
        """Every interrupt of the thread, as stored."""
        if self._rows is None:
            found = finish_now(self.store.list_interrupts(KEY.scope, limit=10_000))
            self._rows = {row.interrupt.id: row.interrupt for row in found}
        return self._rows

    def receipts(self) -> dict[str, Receipt]:
        """Every receipt of the thread, by batch."""
        return dict(self.look(tuple(self.rows())).receipts)

    def step(self, job: Job, fate: Fate, plan: list[Plan]) -> bool:
        """Do a job's operation.

        Args:
            job: whose.
            fate: what becomes of a write; looks always succeed.
            plan: what the agent does; the first is used up when it is the agent's turn.

        Returns:
            Whether it came to something; not when a write got no answer, or the plan is empty.
        """
        operation = job.operation
        assert operation is not None, "a job that is over has no operation"
        match operation:
            case Act():
                if not plan:
                    return False
                job.give(plan.pop(0))
            case Wait():
                job.give(None)
            case Load(ids):
                job.give(self._load(ids))
            case Commit() | RequestStop() | Delete():
                return self._write(job, operation, fate)
        return True

    def _write(self, job: Job, operation: Commit | RequestStop | Delete, fate: Fate) -> bool:
        if fate is Fate.LOST:
            return False
        try:
            result = self._apply(operation)
        except Conflict as error:
            if fate is Fate.UNACKNOWLEDGED:
                return False
            job.refuse(error)
            return True
        if fate is Fate.UNACKNOWLEDGED:
            return False
        if isinstance(operation, Commit):
            job.wrote.append(operation.why)
        job.give(result)
        return True

    def _load(self, ids: tuple[str, ...]) -> Loaded:
        return finish_now(self.store.load(KEY, ids))

    def _forget_looks(self) -> None:
        self._looks.clear()
        self._rows = None

    def _apply(self, operation: Commit | RequestStop | Delete) -> Committed | None:
        match operation:
            case Delete(expected):
                self._forget_looks()
                finish_now(self.store.delete(KEY, expected))
                self.ledger.forget_promises()
                return None
            case RequestStop(stop):
                self._forget_looks()
                finish_now(self.store.request_stop(KEY, stop))
                return None
            case Commit():
                return self._commit(operation)

    def _commit(self, commit: Commit) -> Committed:
        before, rows = self.look().record, self.rows()
        expected = commit.expected
        if commit.blind and before is not None:
            expected = replace(expected, version=before.version)
        elif commit.blind:
            expected = Expected()
        self._forget_looks()
        done = finish_now(self.store.commit(KEY, commit.change, expected, commit.write_id))
        if before is not None and before.write_id == commit.write_id:
            return done
        if commit.owner is not None and not (
            before is not None
            and before.run is not None
            and before.run.token == commit.owner
            and before.run.ends_at > self.now
        ):
            raise Violation(f"{commit.why}: an owner wrote although its lease was over")
        ledger = self.ledger
        check_watch(before, done.record, commit.why, self.now, ledger.dropped, ledger.noted)
        for ask in commit.change.interrupts:
            self.ledger.asks.setdefault(ask.id, ask)
            self.ledger.note_cast(ask, rows.get(ask.id))
            if commit.why == "reopen":
                self.ledger.reopened.add(ask.id)
                self.ledger.cast.pop(ask.id, None)
        return done
