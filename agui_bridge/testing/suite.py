"""The checks as a class of pytest tests. It needs no import of pytest: pytest calls it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar

from agui_bridge.testing.check import Check
from agui_bridge.testing.checks import CHECKS
from agui_bridge.testing.running import CheckResult, run_check
from agui_bridge.testing.scenario import AdapterScenario

__all__ = ["AdapterSuite"]

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
            skipped unseen.
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
        """The adapter does what the check says."""

        async def carry_out() -> CheckResult:
            async with self.scenario() as scenario:
                return await run_check(check, scenario)

        # Failed out here, what pytest shows of the trace is no more than this function.
        result = asyncio.run(carry_out())
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
