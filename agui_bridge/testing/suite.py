"""The checks as a class of pytest tests. It needs no import of pytest: pytest calls it."""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal
from unittest import SkipTest

from agui_bridge.testing.case import Case
from agui_bridge.testing.check import Check
from agui_bridge.testing.checks import CHECKS
from agui_bridge.testing.conversation import Failed
from agui_bridge.testing.scenario import AdapterScenario

# --- carry checks out: all of a scenario's with `check_adapter`, or one with `run_check` ---

_LONGEST = 6
"""How often a check may wait for all of the scenario's patience."""

ScenarioSource = Callable[[], AbstractAsyncContextManager[AdapterScenario]]


@dataclass(frozen=True)
class CheckResult:
    """What became of one check.

    Attributes:
        check: the check.
        status: `passed`, `failed`, or `left out`: it does not apply.
        seen: what was seen instead, or why it does not apply; "" when it passed.
    """

    check: Check
    status: Literal["passed", "failed", "left out"]
    seen: str = ""

    def __str__(self) -> str:
        """Tell all that its author needs to know."""
        lines = [f"{self.check.id}: {self.status}"]
        if self.seen:
            lines.append(f"  expected: {self.check.sentence}")
            lines.append(f"  seen: {self.seen}")
        if self.status == "failed":
            lines.append(f"  to mend it: {self.check.hint}")
        return "\n".join(lines)


async def check_adapter(
    scenario: ScenarioSource, checks: Sequence[Check] = CHECKS
) -> list[CheckResult]:
    """Carry checks out, one after the other, each on a scenario of its own.

    Args:
        scenario: gives a scenario as an async context manager: its framework runs within.
        checks: which ones; all by default.

    Returns:
        One result for each check, in order.
    """
    results = []
    for one in checks:
        async with scenario() as given:
            results.append(await run_check(one, given))
    return results


async def run_check(one: Check, scenario: AdapterScenario) -> CheckResult:
    """Carry one check out.

    What the scenario's own functions raise is let through.
    """
    adapter = scenario.adapter()
    try:
        why_not = one.why_not(scenario, adapter.capabilities)
    finally:
        await adapter.aclose()
    if why_not is not None:
        return CheckResult(one, "left out", why_not)
    with tempfile.TemporaryDirectory(prefix="agui-bridge-") as folder:
        # Several cases may share one framework, which remembers threads by their name.
        case = Case(scenario, Path(folder), f"{one.id}-{secrets.token_hex(4)}")
        try:
            async with asyncio.timeout(scenario.patience * _LONGEST):
                await one.body(case)
        except Failed as failure:
            return CheckResult(one, "failed", str(failure))
        except TimeoutError:
            return CheckResult(one, "failed", "it did not end in time")
    return CheckResult(one, "passed")


# --- the suite ---

_IDS = frozenset(check.id for check in CHECKS)


class AdapterSuite:
    """One test for each check that applies.

    ::

        class TestFlows(AdapterSuite):
            leaves_out = {"edit", "answer", "cancel-question"}

            @asynccontextmanager
            async def scenario(self):
                async with FlowServer() as server:
                    yield AdapterScenario(adapter=lambda: FlowAdapter(server.url), ...)

    Attributes:
        leaves_out: ids of the checks that do not apply, or attributes of `AdapterScenario` that
            the scenario lacks: they stand for all checks that need them. A check that does not
            apply and is not named here fails, and so does one that is named and applies: nothing is
            skipped unseen. What few adapters can do is the exception: that check is skipped, and
            says why.
    """

    leaves_out: ClassVar[Collection[str]] = ()

    def scenario(self) -> AbstractAsyncContextManager[AdapterScenario]:
        """The scenario of one check, as an async context manager: its framework runs within.

        Raises:
            NotImplementedError: a suite has none of its own; each must say what it tests.
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method `scenario`.")

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Make a test of each check; pytest calls this with its `metafunc`."""
        if "check" in metafunc.fixturenames:
            applying = [check for check in CHECKS if not self.is_left_out(check)]
            metafunc.parametrize("check", applying, ids=[check.id for check in applying])

    def is_left_out(self, check: Check) -> bool:
        """Whether a check is among those that do not apply.

        Args:
            check: one of `CHECKS`.
        """
        needed = {name for name in check.needs if name not in _IDS}
        return not needed.union([check.id]).isdisjoint(self.leaves_out)

    def test_adapter(self, check: Check) -> None:
        """The adapter does what the check says.

        Raises:
            SkipTest: the check is of a kind of adapter that few are, and this is none.
        """

        async def carry_out() -> CheckResult:
            async with self.scenario() as scenario:
                return await run_check(check, scenario)

        # Failed out here, what pytest shows of the trace is no more than this function.
        result = asyncio.run(carry_out())
        if check.optional and result.seen == check.whose:
            raise SkipTest(result.seen)
        hint = f"\n  if that is right, name {check.id!r} in leaves_out"
        ending = hint if result.status == "left out" else ""
        assert result.status == "passed", f"{result}{ending}"

    def test_what_is_left_out_does_not_apply(self) -> None:
        """Every check that is left out exists, and has nothing to look at."""

        async def find_wrong() -> list[str]:
            known = {check.id: check for check in CHECKS}
            needed = {name for check in CHECKS for name in check.needs} - _IDS
            async with self.scenario() as scenario:
                adapter = scenario.adapter()
                capabilities = adapter.capabilities
                await adapter.aclose()
                return [
                    name
                    for name in self.leaves_out
                    if (name in known and known[name].why_not(scenario, capabilities) is None)
                    or (name in needed and getattr(scenario, name) is not None)
                    or name not in _IDS | needed
                ]

        wrong = asyncio.run(find_wrong())
        assert not wrong, f"leaves_out names checks that apply, or that there are not: {wrong}"
