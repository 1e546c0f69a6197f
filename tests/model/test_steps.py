"""Runs with checkpoints hold their promises under any schedule; each rule of theirs is missed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.search import COMMON, shows
from tests.model.step_mutants import BROKEN_STEPS
from tests.model.steps import Stepping, SteppingMachine
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
def test_no_schedule_breaks_a_promise_of_a_run_with_checkpoints(schedules: int) -> None:
    run_state_machine_as_test(SteppingMachine, settings=settings(COMMON, max_examples=schedules))


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("seed", "engine", "broken"),
    [
        pytest.param(
            *(seed, engine, broken),
            id=name,
            marks=pytest.mark.soak if name == "there is no pause between attempts" else (),
        )
        for name, seed, engine, broken in BROKEN_STEPS
    ],
)
def test_broken_steps_are_caught(
    seed: int, engine: type[Stepping], broken: Callable[[], AbstractContextManager[object]]
) -> None:
    class Broken(SteppingMachine):
        engine_class = engine

    with broken():
        assert shows(Broken, Violation, seeded=seed)
