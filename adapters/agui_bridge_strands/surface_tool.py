"""The tool by which an agent of Strands makes surfaces of a page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from strands.types.events import ToolResultEvent
from strands.types.tools import AgentTool

from agui_bridge.frameworks.a2ui.drawing import Surfaces
from agui_bridge.frameworks.a2ui.offer import GENERATE
from agui_bridge_strands.content import result_block


class SurfaceTool(AgentTool):
    """Has the agent's model draw a surface, in a request of its own.

    Args:
        surfaces: of the run.
        model: the agent's.
        count: takes the usage that the model tells.
    """

    def __init__(
        self, surfaces: Surfaces, model: Any, count: Callable[[Mapping[str, Any]], None]
    ) -> None:
        super().__init__()
        self._surfaces = surfaces
        self._model = model
        self._count = count

    @property
    def tool_name(self) -> str:
        """Its name."""
        return GENERATE

    @property
    def tool_spec(self) -> Any:
        """What models are told of it."""
        offer = self._surfaces.offer
        schema = {"json": offer.parameters}
        return {"name": GENERATE, "description": offer.description, "inputSchema": schema}

    @property
    def tool_type(self) -> str:
        """What kind of tool it is."""
        return "a2ui"

    async def stream(self, tool_use: Any, invocation_state: Any, **kwargs: Any) -> Any:
        """Carry a call out."""
        agent, call = invocation_state["agent"], tool_use["toolUseId"]
        said = _without(agent.messages, call)

        def ask(prompt: str) -> AsyncIterator[str]:
            return self._pieces(said, prompt)

        text = await self._surfaces.make(tool_use["input"], ask, call)
        result: Any = result_block(call, text)
        yield ToolResultEvent(result)

    async def _pieces(self, said: Sequence[Any], prompt: str) -> AsyncIterator[str]:
        draw = self._surfaces.offer.draw
        spec = {
            "name": draw["name"],
            "description": draw["description"],
            "inputSchema": {"json": draw["parameters"]},
        }
        drawing = False
        stream = self._model.stream(
            list(said), [spec], prompt, tool_choice={"tool": {"name": draw["name"]}}
        )
        async with aclosing(stream) as events:
            async for event in events:
                if "contentBlockStart" in event:
                    use = (event["contentBlockStart"].get("start") or {}).get("toolUse") or {}
                    drawing = use.get("name") == draw["name"]
                elif "contentBlockDelta" in event and drawing:
                    use = event["contentBlockDelta"].get("delta", {}).get("toolUse") or {}
                    if piece := use.get("input"):
                        yield str(piece)
                elif "contentBlockStop" in event and drawing:
                    # One surface: what else the model writes is nobody's.
                    return
                elif "metadata" in event:
                    self._count(event["metadata"].get("usage") or {})


def _without(messages: Sequence[Any], call: str) -> list[Any]:
    """The conversation before the reply that made a call: its tools are not the drawing model's."""
    for place in reversed(range(len(messages))):
        blocks = messages[place]["content"]
        if any((block.get("toolUse") or {}).get("toolUseId") == call for block in blocks):
            return list(messages[:place])
    return list(messages)
