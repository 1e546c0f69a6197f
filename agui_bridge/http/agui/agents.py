"""The agents, and what each can do in the shape of AG-UI's AgentCapabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from agui_bridge import __version__
from agui_bridge.engine.input.agent import Agent
from agui_bridge.http.callers import agent_of, principal_of
from agui_bridge.http.endpoint import json_response
from agui_bridge.http.service import Service

if TYPE_CHECKING:  # Shapes for checkers, and for the OpenAPI document.
    from agui_bridge.http.agui.views import AgentList

__all__ = ["capabilities_of", "get_capabilities", "list_agents"]


async def list_agents(service: Service, request: Request) -> Response:
    """`GET /agents`."""
    await principal_of(service, request)
    found: AgentList = {
        "agents": [
            {"name": agent.name, "description": agent.description}
            for agent in service.agents.values()
        ]
    }
    return json_response(found)


async def get_capabilities(service: Service, request: Request) -> Response:
    """`GET /agents/{agent}/capabilities`, in the shape of AG-UI's AgentCapabilities."""
    await principal_of(service, request)
    return json_response(capabilities_of(agent_of(service, request)))


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
