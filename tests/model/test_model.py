"""The contract holds under any schedule of processes, crashes, races and lost acknowledgements.

`AGUI_BRIDGE_MODEL_EXAMPLES=20000 make soak PYTEST_ARGS=tests/model` looks longer.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import BridgeMachine
from tests.model.mutants import MUTANTS, Mutant
from tests.model.search import COMMON, shows
from tests.model.world import Violation

FEW = 60
MANY = int(os.environ.get("AGUI_BRIDGE_MODEL_EXAMPLES", "1000"))
"""How many schedules `make test` and `make soak` try, of fifty steps each."""


@pytest.mark.timeout(max(600, MANY))
@pytest.mark.parametrize(
    "schedules",
    [
        pytest.param(FEW, id="few", marks=pytest.mark.soak),
        pytest.param(MANY, id="many", marks=pytest.mark.soak),
    ],
)
def test_no_schedule_breaks_a_promise(schedules: int) -> None:
    run_state_machine_as_test(BridgeMachine, settings=settings(COMMON, max_examples=schedules))


@pytest.mark.parametrize("mutant", [pytest.param(each, id=each.name) for each in MUTANTS])
def test_broken_engine_is_caught(mutant: Mutant) -> None:
    class Broken(BridgeMachine):
        engine_class = mutant.engine

    with mutant.broken():
        assert shows(Broken, Violation, seeded=mutant.seed)
