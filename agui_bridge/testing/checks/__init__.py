"""Every check, in the order in which they are carried out and read about."""

from typing import Final

from agui_bridge.testing.check import Check
from agui_bridge.testing.checks.capabilities import CAPABILITIES
from agui_bridge.testing.checks.decisions import DECISIONS
from agui_bridge.testing.checks.hearing import HEARING
from agui_bridge.testing.checks.held import HELD
from agui_bridge.testing.checks.once import LATER, ONCE
from agui_bridge.testing.checks.stages import STAGES
from agui_bridge.testing.checks.stops import STOPS
from agui_bridge.testing.checks.streams import STREAMS

_TABLES: Final = (STREAMS, DECISIONS, ONCE, STAGES, STOPS, HEARING, LATER, HELD, CAPABILITIES)

CHECKS: Final[tuple[Check, ...]] = tuple(check for table in _TABLES for check in table.checks)
"""All of them. `id` is unique."""
