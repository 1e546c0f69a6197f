"""Every check, in the order of reports."""

from typing import Final

from agui_bridge.conformance.check import Check
from agui_bridge.conformance.checks.answering import ANSWERING
from agui_bridge.conformance.checks.delegation import DELEGATION
from agui_bridge.conformance.checks.draft_profile import DRAFT_PROFILE
from agui_bridge.conformance.checks.ownership import OWNERSHIP
from agui_bridge.conformance.checks.pausing import PAUSING
from agui_bridge.conformance.checks.racing import PARALLEL, RACING
from agui_bridge.conformance.checks.refusing import REFUSING
from agui_bridge.conformance.checks.repeating import REPEATING, REPLAYING
from agui_bridge.conformance.checks.stopping import STOPPING
from agui_bridge.conformance.checks.streaming import STREAMING

_TABLES: Final = (
    STREAMING, PAUSING, ANSWERING, PARALLEL, REFUSING, REPLAYING, RACING, OWNERSHIP, STOPPING,
    DELEGATION, REPEATING,
    DRAFT_PROFILE,
)  # fmt: skip

CHECKS: Final[tuple[Check, ...]] = tuple(check for table in _TABLES for check in table.checks)
"""Every check, in the order of the groups."""
