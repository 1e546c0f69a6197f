"""The contract holds under any schedule of processes, crashes, races and lost acknowledgements.

`AGUI_BRIDGE_MODEL_EXAMPLES=20000 pytest tests/model/test_model.py` looks longer.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import BridgeMachine
from tests.model.mutants import MUTANTS, Mutant
from tests.model.world import Violation

EXAMPLES = int(os.environ.get("AGUI_BRIDGE_MODEL_EXAMPLES", "400"))
"""How many schedules `make test` tries, of fifty steps each."""

_COMMON = settings(
    stateful_step_count=50,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.slow
@pytest.mark.timeout(max(300, EXAMPLES))
def test_no_schedule_breaks_a_promise() -> None:
    run_state_machine_as_test(BridgeMachine, settings=settings(_COMMON, max_examples=EXAMPLES))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_broken_engine_is_caught(mutant: Mutant) -> None:
    class Broken(BridgeMachine):
        engine_class = mutant.engine

    with mutant.broken(), pytest.raises(Violation):
        run_state_machine_as_test(
            seed(mutant.seed)(Broken),
            settings=settings(
                _COMMON,
                max_examples=4000,
                report_multiple_bugs=False,
                phases=[Phase.generate],
            ),
        )
