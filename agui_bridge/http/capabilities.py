"""What an agent can do, in the shape of AG-UI's AgentCapabilities."""

from __future__ import annotations

from typing import Any

from agui_bridge import __version__
from agui_bridge.engine.input.submission import Agent

__all__ = ["capabilities_of"]


def capabilities_of(agent: Agent) -> dict[str, Any]:
    """What is declared is what is true: the adapter's word, and what the bridge adds."""
    can = agent.adapter.capabilities
    identity = {"name": agent.name, "type": "agui-bridge", "version": __version__}
    if agent.description:
        identity["description"] = agent.description
    return {
        "identity": identity,
        "transport": {
            "streaming": True,
            "websocket": False,
            "httpBinary": False,
            "pushNotifications": False,
            "resumable": False,
        },
        "state": {"snapshots": True, "deltas": True, "persistentState": True},
        "humanInTheLoop": {
            "supported": True,
            "approvals": can.approve,
            "interrupts": True,
            "approveWithEdits": can.edit,
            "feedback": can.decline,
        },
    }
