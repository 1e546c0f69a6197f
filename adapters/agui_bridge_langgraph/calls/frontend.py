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
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import ToolMessage
from langgraph.types import interrupt

from agui_bridge.adapters import Run
from agui_bridge.frameworks.a2ui.offer import GENERATE, in_state
from agui_bridge.protocol.turns import text_of
from agui_bridge_langgraph.calls.guard import OWN_ID
from agui_bridge_langgraph.surface_tool import SurfaceTool
from agui_bridge_langgraph.words import Words, speaking

FRONTEND: Final = "agui_bridge.frontend"
"""Marks the interrupts by which a call is handed to the application."""


@dataclass(frozen=True, slots=True)
class Offered:
    """The application's tools of a run.

    Attributes:
        tools: as AG-UI has them, by name.
        handed: ids of calls that the application was handed in an earlier run.
        results: what it gave of them so far, by call id.
        surface: makes surfaces, where the client offers them, in the place of the application's
            tool that draws them.
        words: what models read that have these tools, None for what all read.
    """

    tools: Mapping[str, Any] = field(default_factory=dict)
    handed: Collection[str] = ()
    results: Mapping[str, Any] = field(default_factory=dict)
    surface: SurfaceTool | None = None
    words: Words | None = None


OFFERED: Final[ContextVar[Offered | None]] = ContextVar(
    "agui_bridge_langgraph.offered", default=None
)
"""The application's tools of the run that this task belongs to."""


class FrontendTools(AgentMiddleware[Any, Any, Any]):
    """Gives an agent's model the tools of the application, and the application their calls.

    The agent's own tools go first: a tool of the application that has the name of one of these is
    not offered. Outside of a run of the bridge it does nothing.

    Args:
        model: draws surfaces of a page that offers A2UI; by default the agent's.
    """

    def __init__(self, model: BaseChatModel | None = None) -> None:
        super().__init__()
        self._model: Any = model
        self._seen: Any = model

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Add the tools to those of the request; LangChain calls this around each."""
        offered = OFFERED.get() or Offered()
        own = {_name_of(tool) for tool in request.tools}
        surface = None if GENERATE in own else offered.surface
        left = {*own, surface.drawing} if surface is not None else own
        added = [_function(tool) for name, tool in offered.tools.items() if name not in left]
        if surface is not None:
            added.append(_function(surface.surfaces.offer.tool))
            self._seen = self._model or request.model
        if added:
            request = request.override(tools=[*request.tools, *added])
        words = offered.words
        if surface is not None:
            words = surface.words
        elif words is None:
            return await handler(request)
        with speaking(words):
            return await handler(request)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Have the application carry a call out; LangChain calls this around each.

        Raises:
            GraphInterrupt: the application has not yet.
        """
        call, own = request.tool_call, OWN_ID.get() or request.tool_call["id"]
        offered = OFFERED.get() or Offered()
        if request.tool is None and call["name"] == GENERATE and offered.surface is not None:
            made = offered.surface.tool(request.state, call["id"], own, self._seen)
            return await handler(request.override(tool=made))
        theirs = call["name"] in offered.tools or own in offered.handed
        if request.tool is not None or not theirs:
            return await handler(request)
        if own in offered.handed or own not in offered.results:
            result = interrupt({FRONTEND: own})
        else:
            # It was carried out while a whole batch waited.
            result = offered.results[own]
        return ToolMessage(result_text(result), tool_call_id=call["id"], name=call["name"])


STATE_KEYS: Final = frozenset({"ag-ui", "copilotkit"})
"""Names in the state of graphs that were made for AG-UI under which they find the context."""


def offered_in_state(run: Run, known: Collection[str], *, told: bool, a2ui: bool) -> dict[str, Any]:
    """What graphs find the application's tools and context by that were made for AG-UI.

    Args:
        run: the run.
        known: names of the graph's input.
        told: whether they get the context.
        a2ui: whether they get what CopilotKit's middleware makes surfaces by.
    """
    tools = [_plain(tool) for tool in run.tools]
    context = [_plain(one) for one in (run.input.context if told else None) or ()]
    surfaces = in_state(run.input, context) if a2ui else {}
    actions = [_function(tool)["function"] for tool in tools]
    offered: dict[str, Any] = {
        "tools": tools,
        "ag-ui": {"tools": tools, "context": context, **surfaces},
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
