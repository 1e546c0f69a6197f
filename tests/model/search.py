"""A search for a schedule that shows a fault, the same one each time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.internal.conjecture.providers import HypothesisProvider
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

COMMON = settings(
    stateful_step_count=50, database=None, suppress_health_check=list(HealthCheck), deadline=None
)
"""How the machines of this folder run: fifty steps a schedule."""


def shows(
    machine: type[RuleBasedStateMachine],
    fault: type[Exception],
    *,
    seeded: int,
) -> bool:
    """Tell whether a schedule that this seed comes to, or one of those after it, ends with a fault.

    Which schedules a seed comes to hangs on the machine alone. Beginning anew costs less than to
    look longer: what Hypothesis comes to later resembles what it came to.
    """
    searched = settings(
        COMMON, max_examples=25, report_multiple_bugs=False, phases=[Phase.generate]
    )
    with _no_constants():
        for another in range(seeded, seeded + 100):
            try:
                run_state_machine_as_test(seed(another)(machine), settings=searched)
            except fault:
                return True
    return False


@contextmanager
def _no_constants() -> Iterator[None]:
    """Draw no constants, which Hypothesis takes from whatever modules the process has loaded."""

    def drawn(self: HypothesisProvider, *_: Any, **__: Any) -> None:
        return None

    with patch.object(HypothesisProvider, "_maybe_draw_constant", drawn):
        yield
