"""Wire dialects: what clients of each kind send, and the shapes that they accept.

See docs/dialects.md.
"""

from agui_bridge.protocol.dialects.dialect import (
    CHAT,
    STOP_REASON,
    V0,
    V1,
    V1_1,
    CallOf,
    Dialect,
    DialectChoice,
    proposal_of,
)
from agui_bridge.protocol.dialects.parsing import ParsedInput, parse_in_steps, parse_input

__all__ = [
    "CHAT",
    "STOP_REASON",
    "V0",
    "V1",
    "V1_1",
    "CallOf",
    "Dialect",
    "DialectChoice",
    "ParsedInput",
    "parse_in_steps",
    "parse_input",
    "proposal_of",
]
