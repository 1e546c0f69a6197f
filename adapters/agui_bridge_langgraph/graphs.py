"""The graph of an adapter: checked, hooked into, and opened where it has to be."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Sequence
from typing import Any, Final

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel

from agui_bridge.errors import ConfigurationError
from agui_bridge.event_loops import PerLoop
from agui_bridge_langgraph.calls.guard import hook
from agui_bridge_langgraph.checkpoint import MESSAGES
from agui_bridge_langgraph.tools import input_names

__all__ = ["OpenGraph"]

_NO_CHECKPOINTER: Final = (
    "The graph has no checkpointer: a pause could never be answered. "
    "Compile it with one (checkpointer=…), such as AsyncSqliteSaver or AsyncPostgresSaver."
)


class OpenGraph:
    """A graph, or the function that makes it.

    Args:
        found: a compiled graph; or a function that makes one, sync, async or an async context
            manager.
        inner: further graphs to hook into.
        begins: whether it is told what to begin with, other than messages.

    Raises:
        ConfigurationError: it is none, or can't be used.
    """

    def __init__(self, found: Any, inner: Sequence[Any] = (), *, begins: bool = False) -> None:
        self._begins = begins
        self._given: Pregel[Any, Any, Any, Any] | None = None
        self._make: Any = None
        self._inner = tuple(inner)
        # What a function opens, such as a checkpointer's connections, belongs to an event loop.
        self._made: PerLoop[_Made] = PerLoop(_Made, _Made.aclose)
        for graph in self._inner:
            if not isinstance(graph, Pregel):
                raise ConfigurationError(f"inner should hold compiled graphs, not {graph!r:.80}.")
        if isinstance(found, Pregel):
            self._given = self._checked(found)
        elif callable(found) and not isinstance(found, StateGraph):
            self._make = found
        else:
            raise ConfigurationError(_no_graph(found))

    async def get(self) -> Pregel[Any, Any, Any, Any]:
        """The graph; the first to ask has it made.

        Raises:
            ConfigurationError: the function made none that can be used.
        """
        if self._given is not None:
            return self._given
        made = self._made.get()
        async with made.opening:
            if made.graph is None:
                made.graph = await self._open(made.held)
        return made.graph

    async def aclose(self) -> None:
        """Close what the function opened; the next to ask has it made anew."""
        await self._made.aclose()

    async def _open(self, held: contextlib.AsyncExitStack) -> Pregel[Any, Any, Any, Any]:
        made = self._make()
        if isinstance(made, contextlib.AbstractAsyncContextManager):
            made = await held.enter_async_context(made)
        elif inspect.isawaitable(made):
            made = await made
        if not isinstance(made, Pregel):
            raise ConfigurationError(_no_graph(made))
        return self._checked(made)

    def _checked(self, graph: Pregel[Any, Any, Any, Any]) -> Pregel[Any, Any, Any, Any]:
        saver = graph.checkpointer
        if not isinstance(saver, BaseCheckpointSaver):
            raise ConfigurationError(_NO_CHECKPOINTER)
        # SqliteSaver has the methods, which tell so when they are called.
        sync = type(saver).aget_tuple is BaseCheckpointSaver.aget_tuple
        if sync or type(saver).__name__ == "SqliteSaver":
            raise ConfigurationError(
                f"{type(saver).__name__} has no async methods: take Async{type(saver).__name__}."
            )
        if not self._begins and MESSAGES not in input_names(graph):
            raise ConfigurationError(
                f"The graph begins without {MESSAGES!r}: say what it begins with (input=…)."
            )
        for one in (graph, *self._inner):
            hook(one)
        return graph


class _Made:
    """What a function has made in one event loop."""

    def __init__(self) -> None:
        self.graph: Pregel[Any, Any, Any, Any] | None = None
        self.held = contextlib.AsyncExitStack()
        self.opening = asyncio.Lock()

    async def aclose(self) -> None:
        """Close it."""
        await self.held.aclose()


def _no_graph(found: Any) -> str:
    if isinstance(found, StateGraph):
        return "graph should be compiled, with a checkpointer: builder.compile(checkpointer=…)."
    return (
        f"graph should be a compiled graph of LangGraph or a function that makes one, "
        f"not {found!r:.80}."
    )
