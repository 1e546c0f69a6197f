"""The tool by which an agent of LangChain makes surfaces of a page."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.messages import SystemMessage
from langchain_core.tools import BaseTool, StructuredTool

from agui_bridge.frameworks.a2ui.drawing import Surfaces
from agui_bridge.frameworks.a2ui.offer import GENERATE
from agui_bridge_langgraph.words import Words, speaking

_NO_MODEL: Final = "The agent that draws has begun anew since: call the tool once more."
_UNSEEN: Final = {"tags": ["langsmith:nostream", "nostream"]}
"""Says that a model's reply is not the agent's; the page is told of it here."""


@dataclass(frozen=True, slots=True)
class SurfaceTool:
    """Has the agent's model draw surfaces, in requests of their own.

    Attributes:
        surfaces: of the run.
        words: what models read of the application that have this tool.
    """

    surfaces: Surfaces
    words: Words | None

    @property
    def drawing(self) -> str:
        """The name of the application's tool that it stands for."""
        return self.surfaces.offer.drawing

    def tool(self, state: Any, native: str, call: str, model: Any) -> BaseTool:
        """The tool for one call.

        Args:
            state: the graph's, when it is called.
            native: the model's id of the call.
            call: its id on the wire.
            model: draws; None where it is not known yet.
        """
        said = _before(state["messages"], native)

        def ask(prompt: str) -> AsyncIterator[str]:
            return self._pieces(model, [SystemMessage(prompt), *said])

        async def generate(**args: Any) -> str:
            if model is None:
                return json.dumps({"error": _NO_MODEL})
            with speaking(self.words):
                return await self.surfaces.make(args, ask, call)

        return StructuredTool(
            name=GENERATE,
            description=self.surfaces.offer.description,
            args_schema=self.surfaces.offer.parameters,
            coroutine=generate,
        )

    async def _pieces(self, model: Any, messages: Sequence[Any]) -> AsyncIterator[str]:
        """The arguments of the first call that the model writes."""
        draw = self.surfaces.offer.draw
        bound = model.bind_tools([{"type": "function", "function": draw}], tool_choice=draw["name"])
        own: Any = None
        async for chunk in bound.astream(messages, config=_UNSEEN):
            for part in getattr(chunk, "tool_call_chunks", ()):
                own = part["index"] if own is None else own
                if part["index"] == own and part["args"]:
                    yield part["args"]


def _before(messages: Sequence[Any], native: str) -> list[Any]:
    """The conversation before the reply that made a call: its tools are not the drawing model's."""
    for place in reversed(range(len(messages))):
        if any(call["id"] == native for call in getattr(messages[place], "tool_calls", ())):
            return list(messages[:place])
    return list(messages)
