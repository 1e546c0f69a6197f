"""The kit itself: nothing is left out unseen, an author's mistakes are told, pytest is optional."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any
from unittest import SkipTest

import pytest
from ag_ui.core import RunFinishedEvent

from agui_bridge import Run, RunItem
from agui_bridge.errors import ConfigurationError
from agui_bridge.testing import CHECKS, AdapterScenario, AdapterSuite, check_adapter, run_check
from tests.support.agents import Scripted
from tests.testing.workshop import Workshop, WorkshopAdapter, scenario_of

BY_ID = {check.id: check for check in CHECKS}


class Suite(AdapterSuite):
    """Cannot be reached, as its scenario says nothing of it."""

    def scenario(self) -> AbstractAsyncContextManager[AdapterScenario]:
        return scenario_of(unreachable=None)


def test_a_check_that_does_not_apply_and_is_not_left_out_fails_and_says_so() -> None:
    with pytest.raises(AssertionError, match=r"no `unreachable`.*\n.*name 'undelivered' in leaves"):
        Suite().test_adapter(BY_ID["undelivered"])


@pytest.mark.parametrize("named", ["approve", "no-such-check"])
def test_what_is_left_out_must_exist_and_not_apply(named: str) -> None:
    class LeavesOut(Suite):
        leaves_out = ("undelivered", named)

    with pytest.raises(AssertionError, match=named):
        LeavesOut().test_what_is_left_out_does_not_apply()


@pytest.mark.parametrize("looks", [False, True])
def test_an_optional_check_is_skipped_where_its_capability_is_not_declared_and_nowhere_else(
    looks: bool,
) -> None:
    class Adapter(WorkshopAdapter):
        capabilities = replace(WorkshopAdapter.capabilities, looks=looks)

    class Lacks(AdapterSuite):
        def scenario(self) -> AbstractAsyncContextManager[AdapterScenario]:
            return scenario_of(Adapter, later=None)

    error = AssertionError if looks else SkipTest
    with pytest.raises(
        error, match="`later`" if looks else "only on adapters that declare `looks`"
    ):
        Lacks().test_adapter(BY_ID["later-question"])


def test_an_attribute_that_the_scenario_lacks_stands_for_all_checks_that_need_it() -> None:
    class Deaf(AdapterSuite):
        leaves_out = ("heard", "undelivered")

        def scenario(self) -> AbstractAsyncContextManager[AdapterScenario]:
            return scenario_of(heard=None, unreachable=None)

    left_out = [check.id for check in CHECKS if Deaf().is_left_out(check)]
    hearing = ["regenerate", "cut-text", "along", "nested-history", "images"]
    assert left_out == ["undelivered", *hearing]
    Deaf().test_what_is_left_out_does_not_apply()

    class Hears(Deaf):
        def scenario(self) -> AbstractAsyncContextManager[AdapterScenario]:
            return scenario_of(unreachable=None)

    with pytest.raises(AssertionError, match="heard"):
        Hears().test_what_is_left_out_does_not_apply()


def test_a_suite_has_one_test_for_each_check_that_is_not_left_out() -> None:
    class LeavesOut(Suite):
        leaves_out = ("undelivered",)

    class Metafunc:
        fixturenames = ("check",)
        ids: tuple[str, ...] = ()

        def parametrize(self, name: str, values: Any, ids: Any) -> None:
            self.ids = tuple(ids)

    metafunc = Metafunc()
    LeavesOut().pytest_generate_tests(metafunc)

    assert metafunc.ids == tuple(name for name in BY_ID if name != "undelivered")


async def test_a_failure_tells_what_was_expected_what_was_seen_and_how_to_mend_it() -> None:
    @asynccontextmanager
    async def silent() -> AsyncIterator[AdapterScenario]:
        yield AdapterScenario(adapter=lambda: Scripted([]))

    (result,) = await check_adapter(silent, [BY_ID["text"]])

    assert str(result) == (
        "text: failed\n"
        f"  expected: {BY_ID['text'].sentence}\n"
        "  seen: the run succeeded without a word\n"
        f"  to mend it: {BY_ID['text'].hint}"
    )


@pytest.mark.parametrize("found_by", ["text", "events"])
async def test_what_the_engine_refuses_of_a_stream_is_told(found_by: str) -> None:
    adapter = Scripted([RunFinishedEvent(thread_id="t", run_id="r")])

    result = await run_check(BY_ID[found_by], AdapterScenario(adapter=lambda: adapter))

    assert result.status == "failed"
    assert "RUN_FINISHED" in result.seen and "None" not in result.seen


async def test_a_run_that_never_ends_is_a_failure_not_a_hang() -> None:
    async def never(run: Run) -> AsyncIterator[RunItem]:
        await run.stop
        yield "too late"

    scenario = AdapterScenario(adapter=lambda: Scripted(never), patience=0.5)

    result = await run_check(BY_ID["text"], scenario)

    assert (result.status, "does not end" in result.seen) == ("failed", True)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"approval": "deploy"}, "approval needs `executed`"),
        ({"question": "when"}, "question needs `executed`"),
        ({"edited": {}}, "edited needs `approval`"),
        ({"elsewhere": {"fly"}}, "no capability 'fly'"),
    ],
)
def test_a_scenario_that_lacks_what_it_needs_is_refused(
    given: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        AdapterScenario(adapter=lambda: WorkshopAdapter(Workshop()), **given)


async def test_a_capability_that_nothing_shows_fails() -> None:
    async with scenario_of(edited=None) as scenario:
        result = await run_check(BY_ID["capabilities"], scenario)
    assert result.seen == "it declares edit=True, and the scenario has no `edited`"

    async with scenario_of(edited=None, elsewhere={"edit"}) as scenario:
        assert (await run_check(BY_ID["capabilities"], scenario)).status == "passed"


@pytest.mark.parametrize(
    ("named", "complaint"),
    [
        (("workshop", "plan"), "object_options names ['plan'], which Configured does not take"),
        ("workshop", "object_options is the text 'workshop', no tuple of names"),
    ],
)
async def test_options_that_the_class_does_not_take_fail(named: object, complaint: str) -> None:
    class Configured(WorkshopAdapter):
        object_options = named

    async with scenario_of(Configured) as scenario:
        result = await run_check(BY_ID["capabilities"], scenario)
    assert result.seen == complaint


async def test_without_the_validator_the_command_that_installs_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ag_ui_validate", None)
    async with scenario_of() as scenario:
        with pytest.raises(ConfigurationError, match=r'pip install "agui-bridge\[testing\]"'):
            await run_check(BY_ID["text"], scenario)


def test_the_kit_needs_neither_pytest_nor_anything_of_these_tests() -> None:
    code = (
        "import sys, agui_bridge.testing\n"
        "found = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(found & {'pytest', '_pytest', 'tests', 'ag_ui_validate'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("[]\n", "")
