"""Variants that break one rule of runs with checkpoints each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any
from unittest.mock import PropertyMock, patch

from agui_bridge.protocol.contract.requests import Recover, Request, Ruling
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.checkpoint import Checkpoint
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import ThreadRecord
from agui_bridge.stores.base import Expected
from tests.model.sleep_mutants import with_row
from tests.model.steps import Stepping

Broken = Callable[[], AbstractContextManager[object]]


class _BeginsUnstored(Stepping):
    def stores_begun(self) -> bool:
        return False


class _OwnersWriteByVersion(Stepping):
    def owner_guard(self, run: Any) -> Expected:
        return Expected(version=run.record.version)


class _MakesNewKeys(Stepping):
    def key_of(self, known: Any) -> str:
        return self.world.mint("key")


class _TakesBlindly(Stepping):
    def takes_blindly(self) -> bool:
        return True


class _DoesNotCount(Stepping):
    def take_up(self, loaded: Loaded, token: str) -> Change:
        change = super().take_up(loaded, token)
        point = change.record.checkpoint
        assert point is not None
        return replace(change, record=replace(change.record, checkpoint=replace(point, attempts=0)))


class _CountsAnew(Stepping):
    def forgets_attempts(self, point: Checkpoint) -> bool:
        return True


class _ForgetsStops(Stepping):
    def notices_stop(self, record: Any) -> bool:
        return record.stop is not None and record.stop.token == record.run.token


class _DropsAnswers(Stepping):
    def take_up(self, loaded: Loaded, token: str) -> Change:
        change = super().take_up(loaded, token)
        point = change.record.checkpoint
        assert point is not None
        return replace(change, record=replace(change.record, batch=None))


def _of(part: object, name: str, broken: object) -> Broken:
    return lambda: patch.object(part, name, broken)


def _given_up_by_inputs(loaded: Loaded, request: Request) -> Ruling | None:
    return Recover() if loaded.run_lost else None


_ALWAYS = PropertyMock(return_value=True)
_NEVER = PropertyMock(return_value=False)


BROKEN_STEPS: tuple[tuple[str, int, type[Stepping], Broken], ...] = (
    ("an act is not stored before it begins", 3, _BeginsUnstored, nullcontext),
    ("an owner writes without its lease", 1, _OwnersWriteByVersion, nullcontext),
    ("an act begins again under a new key", 3, _MakesNewKeys, nullcontext),
    ("an act without result begins again", 3, Stepping, _of(Checkpoint, "may_go_on", _ALWAYS)),
    ("a lost run is taken up without compare-and-swap", 5, _TakesBlindly, nullcontext),
    ("a takeover is not counted", 8, _DoesNotCount, nullcontext),
    ("a write without result counts anew", 8, _CountsAnew, nullcontext),
    ("takeovers have no bound", 3, Stepping, _of(Checkpoint, "is_given_up", _NEVER)),
    ("a takeover forgets a stop", 1, _ForgetsStops, nullcontext),
    ("a takeover drops the claimed answers", 1, _DropsAnswers, nullcontext),
    ("an input gives a run up that can go on", 1, Stepping, with_row("0", _given_up_by_inputs)),
    ("there is no pause between attempts", 1, Stepping,
     _of(Loaded, "way_on", property(lambda seen: "now" if _may(seen) else None))),
)  # fmt: skip
"""What is broken, where a search soon meets a schedule that shows it, and how."""


def _may(seen: Loaded) -> bool:
    record: ThreadRecord | None = seen.record
    if record is None or record.checkpoint is None or not seen.run_lost:
        return False
    point = record.checkpoint
    stops = record.stop_requested is not None
    return point.may_go_on and not (stops and point.begun) and not point.is_given_up
