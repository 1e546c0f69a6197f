"""Every check passes an adapter that is right, and is proven by one that fails it alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import pytest

from agui_bridge import Answer, Decision, Resume, Run, RunItem
from agui_bridge.testing import CHECKS, AdapterScenario, AdapterSuite, Check, run_check
from agui_bridge.testing.process import Watched
from tests.testing.mutants import MUTANTS
from tests.testing.workshop import Call, WorkshopAdapter, scenario_of

BY_ID = {check.id: check for check in CHECKS}

# `later-question` answers in two processes at once. Held questions meet restarts, races and leases.
ALSO_FOUND_BY = {
    "restart": ("later-question", "held-end"),
    "race": ("later-question", "held-answer", "held-end"),
    "lease": ("held-lease",),
}

pytestmark = pytest.mark.timeout(120)


class TestAnAdapterThatIsRight(AdapterSuite):
    def scenario(self) -> AbstractAsyncContextManager[AdapterScenario]:
        return scenario_of()


async def test_what_watches_an_adapter_looks_as_it_does() -> None:
    async with scenario_of() as scenario:
        watched = Watched(scenario.adapter())
    assert (await watched.look({}), await watched.look(None)) == (True, False)


@pytest.mark.parametrize("found_by", MUTANTS)
async def test_a_mutant_fails_the_check_that_it_is_for(found_by: str) -> None:
    (check,) = (check for check in CHECKS if check.id == found_by)

    # Who fails a check by waiting waits as long as the scenario has patience.
    async with scenario_of(MUTANTS[found_by], patience=1.0) as scenario:
        result = await run_check(check, scenario)

    assert result.status == "failed", result


@pytest.mark.soak
@pytest.mark.soak
@pytest.mark.parametrize("found_by", MUTANTS)
async def test_a_mutant_passes_every_other_check(found_by: str) -> None:
    few_at_once = asyncio.Semaphore(2)

    async def result_of(check: Check) -> str | None:
        # A few of them wait. All at once would starve each other: a tool is over before its stop.
        async with few_at_once, scenario_of(MUTANTS[found_by]) as scenario:
            result = await run_check(check, scenario)
        return None if result.status == "passed" else str(result)

    found = {found_by, *ALSO_FOUND_BY.get(found_by, ())}
    others = [check for check in CHECKS if check.id not in found]
    each = await asyncio.gather(*map(result_of, others))

    assert [said for said in each if said] == []


def test_every_check_has_a_mutant_a_sentence_and_a_hint() -> None:
    assert [check.id for check in CHECKS] == list(MUTANTS)
    assert len({check.id for check in CHECKS}) == len(CHECKS)
    assert all(check.sentence.endswith(".") and check.hint.endswith(".") for check in CHECKS)


class KeepsItsHistory(WorkshopAdapter):
    """Nothing is remembered between runs but the conversation, which goes into the continuation."""

    def start(self, run: Run) -> AsyncGenerator[RunItem, None]:
        self.said = [dict(message) for message in run.raw_messages]
        return super().start(run)

    def keep(self, flow: str, calls: Sequence[Call]) -> Any:
        proposed = [json.dumps(call["args"], separators=(",", ":")) for call in calls]
        return {**super().keep(flow, calls), "messages": [*self.said, "I will deploy. ", *proposed]}


async def test_texts_of_the_conversation_are_no_secrets() -> None:
    async with scenario_of(KeepsItsHistory) as scenario:
        result = await run_check(BY_ID["secret"], scenario)
    assert result.status == "passed", result


async def test_a_secret_within_a_text_of_the_conversation_is_found() -> None:
    class Says(KeepsItsHistory):
        async def go_on(self, run: Run, kept: Any) -> AsyncGenerator[RunItem, None]:
            yield f"{kept['flow']} goes on. "
            async for item in super().go_on(run, kept):
                yield item

    async with scenario_of(Says) as scenario:
        result = await run_check(BY_ID["secret"], scenario)
    assert "a stream holds its 'flow-" in result.seen


async def test_a_continuation_that_the_adapter_changed_is_told_as_that() -> None:
    class WritesIntoIt(WorkshopAdapter):
        def recall(self, run: Run, resume: Resume) -> Any:
            resume.continuation["seen"] = True
            return resume.continuation

    async with scenario_of(WritesIntoIt) as scenario:
        result = await run_check(BY_ID["continuation"], scenario)
    assert "the adapter changed the one that came back" in result.seen


async def test_an_adapter_that_can_not_be_told_null_says_so() -> None:
    class TakesNullForNoAnswer(WorkshopAdapter):
        def deliver(self, run: Run, decision: Decision) -> None:
            if decision != Answer(None):
                super().deliver(run, decision)

    class AndSaysSo(TakesNullForNoAnswer):
        capabilities = replace(WorkshopAdapter.capabilities, null=False)

    async with scenario_of(TakesNullForNoAnswer) as scenario:
        assert "answered was None" in (await run_check(BY_ID["falsy"], scenario)).seen
    async with scenario_of(AndSaysSo) as scenario:
        assert (await run_check(BY_ID["falsy"], scenario)).status == "passed"
