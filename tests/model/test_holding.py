"""Held pauses keep the contract's promises under any schedule, and each of their clauses counts."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from unittest.mock import patch

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from agui_bridge.protocol.contract.requests import Request
from agui_bridge.protocol.threads.loaded import Loaded
from tests.model.clients import answer_to
from tests.model.holding import HoldingEngine, HoldingMachine
from tests.model.operations import Action, AskKind
from tests.model.search import COMMON
from tests.model.world import Violation

MANY = int(os.environ.get("AGUI_BRIDGE_MODEL_EXAMPLES", "1000"))


class _GivesFirst(HoldingEngine):
    def gives_first(self) -> bool:
        return True


class _NobodySweeps(HoldingEngine):
    def goes_on_with_answers(self) -> bool:
        return False


class _NeverTold(HoldingEngine):
    def heeds_the_end(self) -> bool:
        return False


class _AsksAgain(HoldingEngine):
    def asks_again(self) -> bool:
        return True


def _never_over() -> AbstractContextManager[object]:
    def held(loaded: Loaded) -> object:
        return loaded._last_hold

    return patch.multiple(Loaded, hold=property(held), hold_over=False)


# --- one schedule for each clause, which shows that it is needed ---


def answer(machine: HoldingMachine, at: str) -> None:
    """Approve what is asked, in a process."""
    (ask,) = machine.world.look().batch_interrupts()
    request = Request((answer_to(ask, "approve", 1),), via=at)
    machine._head_start(machine._begin("input", machine.engine.answer(request)), 3)


def answered_elsewhere(machine: HoldingMachine) -> None:
    answer(machine, "p1")
    machine._see_to_holds([Action.EXECUTE, Action.FINISH])


def answered_and_the_holder_dies(machine: HoldingMachine) -> None:
    answer(machine, "p1")
    for job in machine.jobs:
        job.crash()
    machine.jobs.clear()


def stopped(machine: HoldingMachine) -> None:
    machine.intervene("stop", 20)


def dies_with_its_answer(machine: HoldingMachine) -> None:
    answer(machine, "p0")
    for job in [job for job in machine.jobs if job.name == "input"]:
        machine._drive(job, [Action.EXECUTE, Action.FAIL])


BROKEN: tuple[
    tuple[
        str,
        type[HoldingEngine],
        Callable[[HoldingMachine], None],
        Callable[[], AbstractContextManager[object]],
    ],
    ...,
] = (
    ("an answer is given before the claim", _GivesFirst, answered_elsewhere, nullcontext),
    ("nobody goes on without the holder", _NobodySweeps, answered_and_the_holder_dies, nullcontext),
    ("a holder heeds no end of its pause", _NeverTold, stopped, nullcontext),
    ("what died with its answer is asked again", _AsksAgain, dies_with_its_answer, nullcontext),
    ("a hold is never over", HoldingEngine, answered_and_the_holder_dies, _never_over),
)


def play(
    engine: type[HoldingEngine],
    happens: Callable[[HoldingMachine], None],
    broken: Callable[[], AbstractContextManager[object]],
) -> None:
    class Machine(HoldingMachine):
        engine_class = engine

    with broken():
        machine = Machine()
        machine.a_run_has_paused([AskKind()])
        happens(machine)
        machine.promises_are_kept()
        machine.teardown()


@pytest.mark.timeout(max(600, MANY))
@pytest.mark.parametrize(
    "schedules",
    [
        pytest.param(20, id="few", marks=pytest.mark.soak),
        pytest.param(MANY // 10, id="many", marks=pytest.mark.soak),
    ],
)
def test_no_schedule_breaks_a_promise(schedules: int) -> None:
    run_state_machine_as_test(HoldingMachine, settings=settings(COMMON, max_examples=schedules))


@pytest.mark.parametrize(
    ("engine", "happens", "broken"), [pytest.param(*how, id=name) for name, *how in BROKEN]
)
def test_an_engine_that_breaks_a_rule_is_caught(
    engine: type[HoldingEngine],
    happens: Callable[[HoldingMachine], None],
    broken: Callable[[], AbstractContextManager[object]],
) -> None:
    play(HoldingEngine, happens, nullcontext)
    with pytest.raises(Violation):
        play(engine, happens, broken)
