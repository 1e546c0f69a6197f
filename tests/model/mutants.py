"""Engines that break one rule each: the machine must catch every one of them.

A clause of the contract that could be taken away without being missed would not be tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from agui_bridge.protocol.contract import admission as contract, end_transitions, settling
from agui_bridge.protocol.contract.end_transitions import reopen
from agui_bridge.protocol.contract.requests import Request, Resume, Ruling, Start
from agui_bridge.protocol.contract.transitions import Change, claim_start, moved
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    Interrupt,
    InterruptStatus,
    RecordedAnswer,
    ThreadStatus,
)
from agui_bridge.stores.base import Expected
from tests.model import engine as engine_of_the_model
from tests.model.engine import Engine
from tests.model.rule_mutants import BROKEN_RULES
from tests.model.sleep_mutants import BROKEN_SLEEP

__all__ = ["MUTANTS", "Mutant"]

Row = Callable[[Loaded, Request], Ruling | None]


@dataclass(frozen=True)
class Mutant:
    """A broken variant.

    Attributes:
        name: what is broken.
        seed: where a search soon meets a schedule that shows it.
        engine: the engine to drive.
        broken: a context in which the package itself is broken.
    """

    name: str
    seed: int
    engine: type[Engine] = Engine
    broken: Callable[[], AbstractContextManager[object]] = nullcontext


class _ClaimsBlindly(Engine):
    def claims_blindly(self) -> bool:
        return True


class _ReopensLostRuns(Engine):
    def recover(self, loaded: Loaded) -> Change:
        record = loaded.record
        if record is None or record.batch is None:
            return super().recover(loaded)
        claimed = [ask for ask in loaded.batch_interrupts() if ask.status == "claimed"]
        return reopen(record, claimed, now=loaded.now)


class _ForgetsWhatWasLost(Engine):
    def recover(self, loaded: Loaded) -> Change:
        return replace(super().recover(loaded), receipts=())


class _RemembersLostRuns(Engine):
    def recover(self, loaded: Loaded) -> Change:
        change = super().recover(loaded)
        memo = loaded.record.memo if loaded.record is not None else None
        return replace(change, record=replace(change.record, memo=memo))


class _ExecutesWithoutLease(Engine):
    def may_execute(self, lease_ends_at: float) -> bool:
        return True


class _OwnersWriteByVersion(Engine):
    def owner_guard(self, run: Any) -> Expected:
        return Expected(version=run.record.version)


class _NeverExpires(Engine):
    def admit(self, loaded: Loaded, request: Request) -> Ruling:
        timeless = {id: replace(ask, expires_at=None) for id, ask in loaded.interrupts.items()}
        return super().admit(replace(loaded, interrupts=timeless), request)


class _StopLeavesTheBatchOpen(Engine):
    def close_stopped(self, loaded: Loaded) -> None:
        return None


class _TimersExpire(Engine):
    def wakes(self) -> bool:
        return False


class _VersionsBeginAtOne(Engine):
    def fresh_version(self) -> int:
        return 1


def _rows(changed: Mapping[str, Row | None]) -> Callable[[], AbstractContextManager[object]]:
    """Put other rules in the place of rows; None takes a row out."""
    rows = tuple(
        (number, rule)
        for number, old in contract.ROWS
        if (rule := changed.get(number, old)) is not None
    )
    return lambda: patch.object(contract, "ROWS", rows)


def _close_what_is_not_open(loaded: Loaded, request: Request) -> Ruling | None:
    asks = loaded.batch_interrupts() if loaded.status is ThreadStatus.INTERRUPTED else ()
    waiting = [ask for ask in asks if ask.is_open and not ask.expired(loaded.now)]
    return Start(closes_expired=True) if asks and not request.entries and not waiting else None


def _messages_answer(*, before: bool, approve: bool) -> Row:
    """Row 11 without one of its conditions."""

    def row(loaded: Loaded, request: Request) -> Ruling | None:
        asks = loaded.batch_interrupts() if loaded.status is ThreadStatus.INTERRUPTED else ()
        auto = request.auto_resume
        if not asks or request.entries or auto is None or not auto.entries:
            return None
        if not (auto.follows_ask or before):
            return None
        if any(ask.expired(loaded.now) or (ask.tool_call and not approve) for ask in asks):
            return None
        verdict = contract.admit(loaded, replace(request, entries=auto.entries, auto_resume=None))
        return verdict if isinstance(verdict, Resume) else None

    return row


def _answered_is_to_cover(loaded: Loaded, request: Request) -> list[Interrupt]:
    named = {entry.interrupt_id for entry in request.entries}
    return [ask for ask in loaded.asks if not ask.expired(loaded.now) and ask.id not in named]


def _equal_to_python(answer: RecordedAnswer, other: RecordedAnswer) -> bool:
    return bool(answer.status == other.status and answer.payload == other.payload)


@contextmanager
def _reopened_answers_stay() -> Iterator[None]:
    """Reopen a batch, but leave the answers of the run that was not delivered in their rows."""

    def keep(ask: Interrupt, status: InterruptStatus, at: float, actor: str) -> Interrupt:
        if status is InterruptStatus.OPEN:
            ask = replace(ask, answer=RecordedAnswer("cancelled"))
        return moved(ask, status, at, actor)

    with patch.object(end_transitions, "moved", keep):
        yield


@contextmanager
def _rewinding_forgets_nothing() -> Iterator[None]:
    """Begin a run before which the client went back as if it had not."""

    def keep(loaded: Loaded, *arguments: Any, superseded: Any, **members: Any) -> Change:
        return claim_start(loaded, *arguments, **members)

    with patch.object(engine_of_the_model, "claim_start", keep):
        yield


MUTANTS: tuple[Mutant, ...] = (
    Mutant("a claim is written without compare-and-swap", 3, _ClaimsBlindly),
    Mutant("a lost run is reopened", 1, _ReopensLostRuns),
    Mutant("a lost run leaves no receipt", 1, _ForgetsWhatWasLost),
    Mutant("what was noted is known after a lost run", 1, _RemembersLostRuns),
    Mutant("what was noted outlives what was rewound", 2, broken=_rewinding_forgets_nothing),
    Mutant("an owner executes without looking at its lease", 16, _ExecutesWithoutLease),
    Mutant("an owner writes without its lease", 5, _OwnersWriteByVersion),
    Mutant("asks never expire", 1, _NeverExpires),
    Mutant("a stop leaves the batch open", 1, _StopLeavesTheBatchOpen),
    Mutant("every thread begins with version 1", 18, _VersionsBeginAtOne),
    Mutant("held answers can be changed", 12, broken=_rows({"2": None})),
    Mutant("nothing is replayed", 1, broken=_rows({"4": None})),
    Mutant("closed batches are not looked at", 1, broken=_rows({"4": None, "5": None, "7": None})),
    Mutant(
        "a batch closes although an answer is held",
        1,
        broken=_rows({"10": _close_what_is_not_open}),
    ),
    Mutant("held answers beside expired asks wait for ever", 1, broken=_rows({"10b": None})),
    Mutant("expired asks can be resolved", 2, broken=_rows({"14": None})),
    Mutant("payloads are not checked", 1, broken=_rows({"15": None})),
    Mutant(
        "answered asks must be answered again",
        1,
        broken=lambda: patch.object(contract, "to_cover", _answered_is_to_cover),
    ),
    Mutant(
        "1 is the same as true",
        2,
        broken=lambda: patch.object(settling, "same_answer", _equal_to_python),
    ),
    Mutant(
        "a message approves a tool call",
        3,
        broken=_rows({"11": _messages_answer(before=False, approve=True)}),
    ),
    Mutant(
        "a message answers what was asked after it",
        1,
        broken=_rows({"11": _messages_answer(before=True, approve=False)}),
    ),
    Mutant("a message that is not understood meets an error", 1, broken=_rows({"12": None})),
    Mutant("reopened asks keep an answer", 2, broken=_reopened_answers_stay),
    Mutant("a timer expires as a question does", 1, _TimersExpire),
    *(Mutant(name, seed, broken=broken) for name, seed, broken in BROKEN_RULES),
    *(Mutant(name, seed, broken=broken) for name, seed, broken in BROKEN_SLEEP),
)
