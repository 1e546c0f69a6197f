"""Every check passes an adapter that is right, and is proven by one that fails it alone."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest

from agui_bridge.testing import CHECKS, AdapterScenario, AdapterSuite, check_adapter
from tests.testing.mutants import MUTANTS
from tests.testing.workshop import scenario_of

pytestmark = pytest.mark.timeout(120)


class TestAnAdapterThatIsRight(AdapterSuite):
    def scenario(self) -> AbstractAsyncContextManager[AdapterScenario]:
        return scenario_of()


@pytest.mark.slow
@pytest.mark.parametrize("found_by", MUTANTS)
async def test_a_mutant_fails_the_check_that_it_is_for_and_no_other(found_by: str) -> None:
    def scenario() -> AbstractAsyncContextManager[AdapterScenario]:
        return scenario_of(MUTANTS[found_by])

    # At once, since a few of them wait.
    each = await asyncio.gather(*(check_adapter(scenario, [check]) for check in CHECKS))
    results = [result for (result,) in each]

    assert [str(r) for r in results if r.status != "passed" and r.check.id != found_by] == []
    assert [r.check.id for r in results if r.status == "failed"] == [found_by]


def test_every_check_has_a_mutant_a_sentence_and_a_hint() -> None:
    assert [check.id for check in CHECKS] == list(MUTANTS)
    assert len({check.id for check in CHECKS}) == len(CHECKS)
    assert all(check.sentence.endswith(".") and check.hint.endswith(".") for check in CHECKS)
