"""Wire dialects: what clients of each kind send, and the shapes that they accept.

See docs/dialects.md.
"""

from agui_bridge.protocol.dialects.dialect import (
    CHAT as CHAT,
    STOP_REASON as STOP_REASON,
    V0 as V0,
    V1 as V1,
    V1_1 as V1_1,
    CallOf as CallOf,
    Dialect as Dialect,
    DialectChoice as DialectChoice,
    proposal_of as proposal_of,
)
from agui_bridge.protocol.dialects.parsing import (
    ParsedInput as ParsedInput,
    parse_in_steps as parse_in_steps,
    parse_input as parse_input,
)
