"""Every check, in the order of reports."""

from typing import Final

from agui_bridge.conformance.check import Check
from agui_bridge.conformance.checks.answering import ANSWERING
from agui_bridge.conformance.checks.drafting import DRAFTING
from agui_bridge.conformance.checks.elsewhere import ELSEWHERE
from agui_bridge.conformance.checks.pausing import PAUSING
from agui_bridge.conformance.checks.racing import RACING
from agui_bridge.conformance.checks.refusing import REFUSING
from agui_bridge.conformance.checks.remembering import REMEMBERING
from agui_bridge.conformance.checks.replaying import REPLAYING
from agui_bridge.conformance.checks.stopping import STOPPING
from agui_bridge.conformance.checks.streaming import STREAMING
from agui_bridge.conformance.checks.together import TOGETHER

__all__ = ["CHECKS"]

_TABLES: Final = (
    STREAMING, PAUSING, ANSWERING, TOGETHER, REFUSING, REPLAYING, RACING, REMEMBERING, STOPPING,
    ELSEWHERE,
    DRAFTING,
)  # fmt: skip

CHECKS: Final[tuple[Check, ...]] = tuple(check for table in _TABLES for check in table.checks)
"""Every check, in the order of the groups."""
