"""What each route is for, takes and answers: the table from which the OpenAPI document is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agui_bridge.http.agui.operations import AGUI_OPERATIONS
from agui_bridge.http.channels.operations import CHANNEL_OPERATIONS
from agui_bridge.http.chat.operations import CHAT_OPERATIONS
from agui_bridge.http.copilotkit.operations import COPILOTKIT_OPERATIONS
from agui_bridge.http.operation import OPENS_STORE, Operation

__all__ = ["OPERATIONS"]

OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {
    **AGUI_OPERATIONS,
    **CHANNEL_OPERATIONS,
    **CHAT_OPERATIONS,
    **COPILOTKIT_OPERATIONS,
    ("GET", "/healthz"): Operation(
        "getHealth", "Service", "Tell that the process answers", answer="Health", public=True
    ),
    ("GET", "/readyz"): Operation(
        "getReadiness",
        "Service",
        "Tell that the store answers and new runs are taken",
        answer="Readiness",
        codes=OPENS_STORE,
        public=True,
    ),
    ("GET", "/openapi.json"): Operation(
        "getOpenapi",
        "Service",
        "Give this document",
        "It holds no data and names no agent, so that it needs no credentials.",
        answer="Document",
        public=True,
    ),
}
"""By method and path."""
