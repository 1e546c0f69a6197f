"""Every check passes an adapter that is right, and is proven by one that fails it alone."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest

from agui_bridge.testing import CHECKS, AdapterScenario, AdapterSuite, check_adapter, run_check
from tests.testing.mutants import MUTANTS
from tests.testing.workshop import scenario_of

pytestmark = pytest.mark.timeout(120)


class TestAnAdapterThatIsRight(AdapterSuite):
    def scenario(self) -> AbstractAsyncContextManager[AdapterScenario]:
        return scenario_of()


@pytest.mark.parametrize("found_by", MUTANTS)
async def test_a_mutant_fails_the_check_that_it_is_for(found_by: str) -> None:
    (check,) = (check for check in CHECKS if check.id == found_by)

    # Who fails a check by waiting waits as long as the scenario has patience.
    async with scenario_of(MUTANTS[found_by], patience=1.0) as scenario:
        result = await run_check(check, scenario)

    assert result.status == "failed", result


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("found_by", MUTANTS)
async def test_a_mutant_passes_every_other_check(found_by: str) -> None:
    others = [check for check in CHECKS if check.id != found_by]

    # At once, since a few of them wait.
    each = await asyncio.gather(
        *(check_adapter(lambda: scenario_of(MUTANTS[found_by]), [check]) for check in others)
    )

    assert [str(result) for (result,) in each if result.status != "passed"] == []


def test_every_check_has_a_mutant_a_sentence_and_a_hint() -> None:
    assert [check.id for check in CHECKS] == list(MUTANTS)
    assert len({check.id for check in CHECKS}) == len(CHECKS)
    assert all(check.sentence.endswith(".") and check.hint.endswith(".") for check in CHECKS)
