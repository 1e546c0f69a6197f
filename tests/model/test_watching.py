"""Work that outlasts its run is asked under any schedule, by one process, and over nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from agui_bridge.protocol.contract import admission
from agui_bridge.protocol.contract.requests import Request, Ruling, Start
from agui_bridge.protocol.contract.transitions import Change, claim_start
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.record_parts import Watch
from tests.model import engine as engine_of_the_model
from tests.model.engine import Engine
from tests.model.search import COMMON, shows
from tests.model.watches import Violation
from tests.model.watching import WatchingMachine

MANY = int(os.environ.get("AGUI_BRIDGE_MODEL_EXAMPLES", "1000"))


class _LooksUnclaimed(Engine):
    def claims_looks(self) -> bool:
        return False


class _StopForgetsTheWork(Engine):
    def end_watch(self, loaded: Loaded) -> None:
        return None


class _StopOfAQuestionForgetsTheWork(Engine):
    def close_stopped(self, loaded: Loaded) -> Change | None:
        change = super().close_stopped(loaded)
        watch = loaded.record.watch if loaded.record is not None else None
        return change and replace(change, record=replace(change.record, watch=watch))


class _LostRunsTakeItAlong(Engine):
    def recover(self, loaded: Loaded) -> Change:
        change = super().recover(loaded)
        return replace(change, record=replace(change.record, watch=None))


class _NotesAtTheEnd(Engine):
    def notes_at_once(self) -> bool:
        return False


def _asks_over_anything() -> AbstractContextManager[object]:
    def asks(loaded: Loaded, request: Request) -> Ruling | None:
        return Start() if request.looks else None

    rows = (("18c", asks), *(row for row in admission.ROWS if row[0] != "18c"))
    return patch.object(admission, "ROWS", rows)


def _messages_take_it_along() -> AbstractContextManager[object]:
    def forgetting(*arguments: Any, **members: Any) -> Change:
        change = claim_start(*arguments, **members)
        return replace(change, record=replace(change.record, watch=None))

    return patch.object(engine_of_the_model, "claim_start", forgetting)


def _is_asked_of_nobody() -> AbstractContextManager[object]:
    def never(loaded: Loaded, request: Request) -> Ruling | None:
        return None

    rows = tuple((n, never if n == "18c" else row) for n, row in admission.ROWS)
    return patch.object(admission, "ROWS", rows)


def _looks_once() -> AbstractContextManager[object]:
    return patch.object(Watch, "looked", lambda watch, now: None)


BROKEN: tuple[tuple[str, int, type[Engine], Callable[[], AbstractContextManager[object]]], ...] = (
    ("a look is taken without a claim", 1, _LooksUnclaimed, nullcontext),
    ("a stop goes on looking", 1, _StopForgetsTheWork, nullcontext),
    ("a stop of a question goes on looking", 1, _StopOfAQuestionForgetsTheWork, nullcontext),
    ("a lost run takes along what others left", 1, _LostRunsTakeItAlong, nullcontext),
    ("what a run leaves is stored at its end", 8, _NotesAtTheEnd, nullcontext),
    ("a look asks over anything", 15, Engine, _asks_over_anything),
    ("a message takes along what others left", 1, Engine, _messages_take_it_along),
    ("what a look finds is asked of nobody", 1, Engine, _is_asked_of_nobody),
    ("somebody looks once", 1, Engine, _looks_once),
)


@pytest.mark.timeout(max(600, MANY))
@pytest.mark.parametrize(
    "schedules",
    [
        pytest.param(60, id="few", marks=pytest.mark.soak),
        pytest.param(MANY, id="many", marks=pytest.mark.soak),
    ],
)
def test_no_schedule_breaks_a_promise(schedules: int) -> None:
    run_state_machine_as_test(WatchingMachine, settings=settings(COMMON, max_examples=schedules))


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("seeded", "engine", "broken"), [pytest.param(*how, id=name) for name, *how in BROKEN]
)
def test_an_engine_that_breaks_a_rule_is_caught(
    seeded: int, engine: type[Engine], broken: Callable[[], AbstractContextManager[object]]
) -> None:
    class Broken(WatchingMachine):
        engine_class = engine

    with broken():
        assert shows(Broken, Violation, seeded=seeded)
