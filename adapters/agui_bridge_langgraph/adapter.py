"""The adapter of LangGraph's graphs, which run in this process."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.errors import ConfigurationError
from agui_bridge.import_object import import_object
from agui_bridge.protocol.threads.records import Json
from agui_bridge_langgraph.graphs import OpenGraph
from agui_bridge_langgraph.turn import Options, Turn

__all__ = ["LangGraphAdapter"]

FromRun = Callable[[Run], Any | Awaitable[Any]]


class LangGraphAdapter:
    """Runs a compiled graph of LangGraph, agents of LangChain included; interrupts are questions.

    The graph's checkpointer keeps the conversation, one for each scope, agent and thread.

    Args:
        graph: a compiled graph with a checkpointer; or a function without arguments that makes one,
            sync, async or an async context manager, called once, when the first run begins; or
            `module:attribute` of either.
        input: what the graph begins with, as a function from the `Run`, sync or async; by default
            the new messages and the shared state, as far as the graph's input has them.
        context: the graph's context (its `context_schema`), as a function from the `Run`.
        config: more of LangGraph's `RunnableConfig`, or a function from the `Run` to it.
        state: names of the state that clients see; by default all of the graph's output but
            messages and the structured response.
        cancelled: what an interrupt of your own returns that nobody answered.
        inner: graphs that tools call, whose tools then are refused in words, not by an error.

    Raises:
        ConfigurationError: the graph is none, has no checkpointer, or one without async methods.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(
        edit=True, respond=True, subagents=True, stop=True, own_history=True, policy=True
    )

    def __init__(
        self,
        graph: Any,
        *,
        input: FromRun | str | None = None,
        context: FromRun | str | None = None,
        config: Mapping[str, Any] | FromRun | str | None = None,
        state: Collection[str] | None = None,
        cancelled: Json = None,
        inner: Sequence[Any] = (),
    ) -> None:
        found = import_object(graph) if isinstance(graph, str) else graph
        self._graph = OpenGraph(found, inner, begins=input is not None)
        self._input = _function("input", input)
        self._context = _function("context", context)
        fixed = isinstance(config, Mapping)
        self._config = (lambda run: config) if fixed else _function("config", config)
        self._state = state
        self._cancelled = cancelled

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: nothing was done with the answers, which may be given again.
            UpstreamError: the graph does not wait for these answers any more.
            ConfigurationError: the function made no graph that can be used.
            Fenced, PolicyFailed: see `ToolGate.before`; whatever the graph raises.
        """
        graph = await self._graph.get()
        options = Options(
            input=await _called(self._input, run),
            context=await _called(self._context, run),
            config=await _called(self._config, run) or {},
            shared=self._state,
            cancelled=self._cancelled,
        )
        async with contextlib.aclosing(Turn(run, graph, options).items()) as items:
            async for item in items:
                yield item

    async def aclose(self) -> None:
        """Close what the function of a graph opened."""
        await self._graph.aclose()


def _function(name: str, found: Any) -> Any:
    function = import_object(found) if isinstance(found, str) else found
    if function is not None and not callable(function):
        raise ConfigurationError(f"{name} should be a function from the Run, not {function!r:.80}.")
    return function


async def _called(function: Any, run: Run) -> Any:
    made = function(run) if function is not None else None
    return await made if inspect.isawaitable(made) else made
