"""The application's tools, given to a graph's model and carried out by the application.

A graph can't be told of further tools from outside. So there is a middleware for `create_agent`;
and graphs that bind the tools of their state themselves, as CopilotKit's do, get them there.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langgraph.types import interrupt

from agui_bridge.adapters import Run
from agui_bridge.protocol.turns import text_of
from agui_bridge_langgraph.calls.guard import OWN_ID

__all__ = ["FRONTEND", "OFFERED", "FrontendTools", "Offered", "offered_in_state", "result_text"]

FRONTEND: Final = "agui_bridge.frontend"
"""Marks the interrupts by which a call is handed to the application."""


@dataclass(frozen=True, slots=True)
class Offered:
    """The application's tools of a run.

    Attributes:
        tools: as AG-UI has them, by name.
        handed: ids of calls that the application was handed in an earlier run.
        results: what it gave of them so far, by call id.
    """

    tools: Mapping[str, Any] = field(default_factory=dict)
    handed: Collection[str] = ()
    results: Mapping[str, Any] = field(default_factory=dict)


OFFERED: Final[ContextVar[Offered | None]] = ContextVar(
    "agui_bridge_langgraph.offered", default=None
)
"""The application's tools of the run that this task belongs to."""


class FrontendTools(AgentMiddleware[Any, Any, Any]):
    """Gives an agent's model the tools of the application, and the application their calls.

    The agent's own tools go first: a tool of the application that has the name of one of these is
    not offered. Outside of a run of the bridge it does nothing.
    """

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Add the tools to those of the request; LangChain calls this around each."""
        offered = OFFERED.get() or Offered()
        own = {_name_of(tool) for tool in request.tools}
        added = [_function(tool) for name, tool in offered.tools.items() if name not in own]
        if added:
            request = request.override(tools=[*request.tools, *added])
        return await handler(request)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Have the application carry a call out; LangChain calls this around each.

        Raises:
            GraphInterrupt: the application has not yet.
        """
        call, own = request.tool_call, OWN_ID.get() or request.tool_call["id"]
        offered = OFFERED.get() or Offered()
        theirs = call["name"] in offered.tools or own in offered.handed
        if request.tool is not None or not theirs:
            return await handler(request)
        if own in offered.handed or own not in offered.results:
            result = interrupt({FRONTEND: own})
        else:
            # It was carried out while a whole batch waited.
            result = offered.results[own]
        return ToolMessage(result_text(result), tool_call_id=call["id"], name=call["name"])


def offered_in_state(run: Run, known: Collection[str]) -> dict[str, Any]:
    """What graphs find the application's tools and context by that were made for AG-UI.

    Args:
        run: the run.
        known: names of the graph's input.
    """
    tools = [_plain(tool) for tool in run.tools]
    context = [_plain(one) for one in run.input.context or ()]
    actions = [_function(tool)["function"] for tool in tools]
    offered: dict[str, Any] = {
        "tools": tools,
        "ag-ui": {"tools": tools, "context": context},
        "copilotkit": {
            "actions": actions,
            "context": context,
        },
    }
    return {name: value for name, value in offered.items() if name in known}


def result_text(result: Any) -> str:
    """What the application gave, as a model reads it."""
    if isinstance(result, list) and all(isinstance(part, Mapping) for part in result):
        return text_of(result)
    return result if isinstance(result, str) else json.dumps(result)


def _plain(told: Any) -> dict[str, Any]:
    made: dict[str, Any] = told.model_dump(by_alias=True, mode="json", exclude_none=True)
    return made


def _function(tool: Any) -> dict[str, Any]:
    """A tool as models are told of it, whatever provider they are of."""
    told = tool if isinstance(tool, Mapping) else _plain(tool)
    return {
        "type": "function",
        "function": {
            "name": told["name"],
            "description": told.get("description") or "",
            "parameters": told.get("parameters") or {"type": "object", "properties": {}},
        },
    }


def _name_of(tool: Any) -> Any:
    if isinstance(tool, Mapping):
        return tool.get("name") or tool.get("function", {}).get("name")
    return getattr(tool, "name", None)
