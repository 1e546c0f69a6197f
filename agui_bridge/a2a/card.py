"""An agent's card: what it is, where it is reached, and what it asks by.

Anybody may read the public one, so where callers authenticate it says no more of the agent than
its address does. The rest is in the extended one. Where nobody does there is no other.

Source: the A2A specification 1.0, sections 4.4 ("Agent discovery") and 3.1.11.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from agui_bridge.a2a.wire import INTERRUPTS, VERSION, WELL_KNOWN
from agui_bridge.engine.input.submission import Agent

A2A: Final = "/a2a"
"""Below which each agent has its address, by its name."""

A2A_AGENT: Final = A2A + "/{agent}"
A2A_CARD: Final = A2A_AGENT + WELL_KNOWN

_BINDINGS: Final = ("JSONRPC", "HTTP+JSON")
_TOLD: Final = "What it does is told to those who sign in."
_MODES: Final = ("text/plain", "application/json")


def card_of(
    agent: Agent, base: str, version: str, *, authenticated: bool, extended: bool
) -> dict[str, Any]:
    """Make the card.

    Args:
        agent: whose.
        base: where the bridge is reached, such as `https://agents.example`.
        version: of this package.
        authenticated: whether callers have to say who they are.
        extended: whether the one who is told has.
    """
    address = f"{base.rstrip('/')}{A2A}/{quote(agent.name, safe='')}"
    open_to_all = extended or not authenticated
    about = (agent.description or f"The agent {agent.name}.") if open_to_all else _TOLD
    card: dict[str, Any] = {
        "name": agent.name,
        "description": about,
        "version": version,
        "supportedInterfaces": [
            {"url": address, "protocolBinding": binding, "protocolVersion": VERSION}
            for binding in _BINDINGS
        ],
        "capabilities": {
            "streaming": True,
            "pushNotifications": False,
            "extendedAgentCard": authenticated,
            "extensions": [
                {
                    "uri": INTERRUPTS,
                    "description": "Tells all that a task asks as data, and takes answers as data.",
                    "required": False,
                }
            ],
        },
        "defaultInputModes": [*_MODES, "image/*", "audio/*", "video/*", "application/*"],
        "defaultOutputModes": [*_MODES],
        "skills": [
            {"id": agent.name, "name": agent.name, "description": about, "tags": ["agui-bridge"]}
        ],
    }
    if authenticated:
        card["securitySchemes"] = {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}
        card["securityRequirements"] = [{"schemes": {"bearer": {"list": []}}}]
    return card
