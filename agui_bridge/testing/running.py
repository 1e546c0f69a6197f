"""Carry checks out: all of a scenario's with `check_adapter`, or one with `run_check`."""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agui_bridge.testing.case import Case
from agui_bridge.testing.check import Check
from agui_bridge.testing.checks import CHECKS
from agui_bridge.testing.scenario import AdapterScenario
from agui_bridge.testing.verdicts import Failed

__all__ = ["CheckResult", "check_adapter", "run_check"]

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
