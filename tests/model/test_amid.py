"""Calls that ask in their middle hold their promises under any schedule; no rule is spare."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.amid import AskingEngine, AskingMachine
from tests.model.amid_mutants import BROKEN_CALLS
from tests.model.search import COMMON, shows
from tests.model.test_model import FEW, MANY
from tests.model.world import Violation


@pytest.mark.timeout(max(600, MANY))
@pytest.mark.parametrize(
    "schedules",
    [
        pytest.param(FEW, id="few", marks=pytest.mark.soak),
        pytest.param(MANY, id="many", marks=pytest.mark.soak),
    ],
)
def test_no_schedule_breaks_a_promise_of_a_call_that_asks(schedules: int) -> None:
    run_state_machine_as_test(AskingMachine, settings=settings(COMMON, max_examples=schedules))


@pytest.mark.parametrize(
    ("seed", "engine"), [pytest.param(seed, engine, id=name) for name, seed, engine in BROKEN_CALLS]
)
def test_broken_calls_are_caught(seed: int, engine: type[AskingEngine]) -> None:
    class Broken(AskingMachine):
        engine_class = engine

    assert shows(Broken, Violation, seeded=seed)
