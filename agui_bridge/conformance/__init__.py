"""The conformance kit: black-box checks of what an AG-UI endpoint does across runs.

The checks are plain async functions; the command line and the pytest plugin run the same ones.
"""

from agui_bridge.conformance.check import Check, Result
from agui_bridge.conformance.checks import CHECKS
from agui_bridge.conformance.config import Config, load
from agui_bridge.conformance.lab import Lab
from agui_bridge.conformance.runner import Report, open_lab, run_check, run_suite
from agui_bridge.conformance.verdicts import Blocked, Failed

__all__ = [
    "CHECKS",
    "Blocked",
    "Check",
    "Config",
    "Failed",
    "Lab",
    "Report",
    "Result",
    "load",
    "open_lab",
    "run_check",
    "run_suite",
]
