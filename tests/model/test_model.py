"""The contract holds under any schedule of processes, crashes, races and lost acknowledgements.

`AGUI_BRIDGE_MODEL_EXAMPLES=20000 make soak PYTEST_ARGS=tests/model` looks longer.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import BridgeMachine
from tests.model.mutants import MUTANTS, RARE, Mutant
from tests.model.world import Violation

FEW = 60
MANY = int(os.environ.get("AGUI_BRIDGE_MODEL_EXAMPLES", "2000"))
"""How many schedules `make test` and `make soak` try, of fifty steps each."""

SEEDS = 4
"""How many are tried for a broken engine, one after the other."""

_COMMON = settings(
    stateful_step_count=50,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.timeout(max(600, MANY))
@pytest.mark.parametrize(
    "schedules",
    [
        pytest.param(FEW, id="few", marks=pytest.mark.slow),
        pytest.param(MANY, id="many", marks=pytest.mark.soak),
    ],
)
def test_no_schedule_breaks_a_promise(schedules: int) -> None:
    run_state_machine_as_test(BridgeMachine, settings=settings(_COMMON, max_examples=schedules))


def _mark(mutant: Mutant) -> pytest.MarkDecorator:
    return pytest.mark.soak if mutant.name in RARE else pytest.mark.slow


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "mutant",
    [pytest.param(mutant, id=mutant.name, marks=_mark(mutant)) for mutant in MUTANTS],
)
def test_broken_engine_is_caught(mutant: Mutant) -> None:
    class Broken(BridgeMachine):
        engine_class = mutant.engine

    # What a seed comes to hangs on the modules that this process has loaded, whose constants
    # Hypothesis likes to try. One that comes to nothing seldom leaves others nothing.
    for another in range(SEEDS):
        try:
            with mutant.broken():
                run_state_machine_as_test(
                    seed(mutant.seed + 1_000 * another)(Broken),
                    settings=settings(
                        _COMMON,
                        max_examples=4_000 // SEEDS,
                        report_multiple_bugs=False,
                        phases=[Phase.generate],
                    ),
                )
        except Violation:
            return
    pytest.fail(f"no schedule shows that this engine is broken: {mutant.name}")
