"""Tests of agents and of adapters, on the real engine, without a server.

`talk` is for an agent of yours: say, answer, stop, read. The rest is the kit of an adapter's
author.

An `AdapterScenario` says how to make the adapter, what makes it pause, and what has been carried
out so far. `check_adapter` carries the checks out; `AdapterSuite` makes a pytest test of each.
Needs the extra `testing`.
"""

from agui_bridge.testing.check import Check
from agui_bridge.testing.checks import CHECKS
from agui_bridge.testing.conversation import Failed as CheckFailed, Talk, talk
from agui_bridge.testing.scenario import AdapterScenario, strings_of
from agui_bridge.testing.suite import AdapterSuite, CheckResult, check_adapter, run_check

__all__ = [
    "CHECKS",
    "AdapterScenario",
    "AdapterSuite",
    "Check",
    "CheckFailed",
    "CheckResult",
    "Talk",
    "check_adapter",
    "run_check",
    "strings_of",
    "talk",
]
