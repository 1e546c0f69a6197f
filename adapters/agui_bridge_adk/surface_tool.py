"""The tool by which an agent of ADK makes surfaces of a page."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any, Final

from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from agui_bridge.frameworks.a2ui.drawing import Surfaces
from agui_bridge.frameworks.a2ui.offer import GENERATE
from agui_bridge_adk.content import counted

_AS_TEXT: Final = ("components", "data")
"""What a model writes as JSON in a text: Gemini leaves objects empty whose members are not said."""


class SurfaceTool(BaseTool):
    """Has the agent's model draw a surface, in a request of its own.

    Args:
        surfaces: of the run.
        words: what models read of the application that have this tool.
        usage: takes what the model counts.
    """

    def __init__(self, surfaces: Surfaces, words: str, usage: list[Any]) -> None:
        super().__init__(name=GENERATE, description=surfaces.offer.description)
        self.words = words
        self._surfaces = surfaces
        self._usage = usage

    def among(self, tools: Sequence[BaseTool]) -> list[BaseTool]:
        """The application's tools with this one, without the one that it stands for."""
        return [*(one for one in tools if one.name != self._surfaces.offer.drawing), self]

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_json_schema=self._surfaces.offer.parameters,
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        """Carry a call out."""
        context = tool_context.get_invocation_context()
        said = _said(context.session.events)

        def ask(prompt: str) -> AsyncIterator[str]:
            return self._pieces(context.agent.canonical_model, said, prompt)

        text = await self._surfaces.make(args, ask, tool_context.function_call_id)
        return json.loads(text)

    async def _pieces(
        self, model: Any, said: Sequence[types.Content], prompt: str
    ) -> AsyncIterator[str]:
        """The arguments of its call, which come whole."""
        name = self._surfaces.offer.draw["name"]
        request = LlmRequest(
            model=model.model,
            contents=list(said) or [types.Content(role="user", parts=[types.Part(text=prompt)])],
            config=types.GenerateContentConfig(
                system_instruction=prompt,
                tools=[types.Tool(function_declarations=[self._drawing()])],
                tool_config=types.ToolConfig(
                    function_calling_config=types.FunctionCallingConfig(
                        mode=types.FunctionCallingConfigMode.ANY, allowed_function_names=[name]
                    )
                ),
            ),
        )
        drawn: Mapping[str, Any] | None = None
        async with aclosing(model.generate_content_async(request, stream=True)) as responses:
            async for response in responses:
                if response.usage_metadata is not None and not response.partial:
                    usage = counted(response.usage_metadata)
                    self._usage.append(usage | {"model": response.model_version or "unknown"})
                for part in (response.content.parts if response.content else None) or ():
                    call = part.function_call
                    if call is not None and call.name == name and call.args:
                        drawn = call.args
        if drawn is not None:
            yield json.dumps({key: _read(key, value) for key, value in drawn.items()})

    def _drawing(self) -> types.FunctionDeclaration:
        draw = self._surfaces.offer.draw
        told = draw["parameters"]
        texts = {
            name: {"type": "string", "description": f"{one['description']} As JSON in a text."}
            for name, one in told["properties"].items()
            if name in _AS_TEXT
        }
        return types.FunctionDeclaration(
            name=draw["name"],
            description=draw["description"],
            parameters_json_schema={**told, "properties": {**told["properties"], **texts}},
        )


SURFACE: Final[ContextVar[SurfaceTool | None]] = ContextVar("agui_bridge_adk.surface", default=None)
"""That of the run that this task belongs to."""


def hook_agents() -> None:
    """Have ADK find the tool among an agent's when a person has approved a call of it.

    Where no surfaces are offered nothing changes. Once is enough; again does no harm.
    """
    agents: Any = LlmAgent
    found = agents.canonical_tools
    if getattr(found, "agui_bridge", False):
        return

    async def canonical_tools(self: Any, ctx: Any = None) -> list[BaseTool]:
        tools: list[BaseTool] = await found(self, ctx)
        own = SURFACE.get()
        if own is None or any(tool.name == own.name for tool in tools):
            return tools
        return [*tools, own]

    hooked: Any = canonical_tools
    hooked.agui_bridge = True
    agents.canonical_tools = hooked


def _read(name: str, value: Any) -> Any:
    """A member that is JSON in a text; as it is where it is none, which then is not valid."""
    if name not in _AS_TEXT or not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _said(events: Sequence[Any]) -> list[types.Content]:
    """What was said: calls and their results are of tools that the drawing model has not."""
    return [
        event.content
        for event in events
        if not event.partial
        and event.content is not None
        and any(part.text for part in event.content.parts or ())
        and not event.get_function_calls()
        and not event.get_function_responses()
    ]
