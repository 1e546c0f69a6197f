"""The adapter of LangGraph's graphs, which run in this process."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.errors import ConfigurationError
from agui_bridge.event_loops import PerLoop
from agui_bridge.frameworks.a2ui.drawing import surfaces_of
from agui_bridge.frameworks.a2ui.offer import draws_itself, page_of, without_surfaces
from agui_bridge.frameworks.a2ui.settings import A2UI, WHERE_OFFERED
from agui_bridge.frameworks.application import Application, ContextOption
from agui_bridge.frameworks.forwarded import Forwarded
from agui_bridge.frameworks.predicted_state import PredictState
from agui_bridge.frameworks.private_names import expect_names
from agui_bridge.import_object import import_object
from agui_bridge.protocol.threads.records import Json
from agui_bridge_langgraph.beginning import FromRun, function_from, made_for
from agui_bridge_langgraph.calls.frontend import STATE_KEYS
from agui_bridge_langgraph.calls.guard import hook, names_of_nodes
from agui_bridge_langgraph.checkpoint import MESSAGES
from agui_bridge_langgraph.surface_tool import SurfaceTool
from agui_bridge_langgraph.tools import input_names, tools_of
from agui_bridge_langgraph.turn import Options, Turn
from agui_bridge_langgraph.words import NAMES, Words, hook_models


class LangGraphAdapter:
    """Runs a compiled graph of LangGraph, agents of LangChain included; interrupts are questions.

    The graph's checkpointer keeps the conversation, one for each scope, agent and thread.

    Args:
        graph: a compiled graph with a checkpointer; or a function without arguments that makes one,
            sync, async or an async context manager, called once, when the first run begins; or
            `module:attribute` of either.
        input: what the graph begins with, as a function from the `Run`, sync or async; by default
            the new messages and the shared state, as far as the graph's input has them.
        graph_context: the graph's context (its `context_schema`), as a function from the `Run`.
        config: more of LangGraph's `RunnableConfig`, or a function from the `Run` to it.
        state: names of the state that clients see; by default all of the graph's output but
            messages and the structured response.
        cancelled: what an interrupt of your own returns that nobody answered.
        inner: graphs that tools call, whose tools then are refused in words, not by an error.
        context: what the models are told of the page; see `Application`. It goes into the state of
            a graph that has CopilotKit's or AG-UI's keys for it.
        client_instructions: whether they are told the client's `system` messages.
        predict_state: which arguments of calls show in the page's state while they stream.
        forwarded_props: names of what clients forward that the graph begins with, where its input
            has them; True for all: only where whoever calls is trusted with the graph's input.
        a2ui: the surfaces that an agent with `FrontendTools` may make of a page that offers A2UI;
            None: none.

    Raises:
        ConfigurationError: the graph is none, has no checkpointer, or one without async methods; an
            option is none of these; LangGraph or LangChain is not one that the adapter knows.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(
        edit=True, respond=True, subagents=True, stop=True, own_history=True, policy=True
    )

    def __init__(
        self,
        graph: Any,
        *,
        input: FromRun | str | None = None,
        graph_context: FromRun | str | None = None,
        config: Mapping[str, Any] | FromRun | str | None = None,
        state: Collection[str] | None = None,
        cancelled: Json = None,
        inner: Sequence[Any] = (),
        context: ContextOption = "model",
        client_instructions: bool = False,
        predict_state: Sequence[PredictState] = (),
        forwarded_props: bool | Collection[str] = False,
        a2ui: A2UI | None = WHERE_OFFERED,
    ) -> None:
        _expect_known_versions()
        hook_models()
        named = import_object(graph) if isinstance(graph, str) else graph
        found, config = _unwrapped(named, config)
        self._graph = OpenGraph(found, inner, begins=input is not None)
        self._input = function_from("input", input)
        self._graph_context = function_from("graph_context", graph_context)
        fixed = isinstance(config, Mapping)
        self._config = (lambda run: config) if fixed else function_from("config", config)
        self._state = state
        self._cancelled = cancelled
        self._application = Application(context, client_instructions)
        self._predictions = tuple(predict_state)
        self._forwarded = Forwarded(forwarded_props)
        self._a2ui = a2ui

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: nothing was done with the answers, which may be given again.
            UpstreamError: the graph does not wait for these answers any more.
            ConfigurationError: the function made no graph that can be used.
            Fenced, PolicyFailed: see `ToolGate.before`; whatever the graph raises.
        """
        graph = await self._graph.get()
        words, in_state = self._application, not STATE_KEYS.isdisjoint(input_names(graph))
        if in_state and words.context == "model":
            words = replace(words, context="off")
        # `FrontendTools` gives a model the page's tools, and how to draw with them.
        draws = draws_itself(run, tools_of(graph))
        options = Options(
            input=await made_for(run, self._input),
            context=await made_for(run, self._graph_context),
            config=await made_for(run, self._config) or {},
            shared=self._state,
            cancelled=self._cancelled,
            words=words.words(run, without_surfaces(run.input.context or ()) if draws else None),
            tool_words=words.words(run) if draws else "",
            told_in_state=self._application.context == "model",
            predictions=self._predictions,
            forwarded=self._forwarded,
            a2ui=self._a2ui is not None,
            surface=self._surface(run, words),
        )
        async with contextlib.aclosing(Turn(run, graph, options).items()) as items:
            async for item in items:
                yield item

    def _surface(self, run: Run, application: Application) -> SurfaceTool | None:
        page = page_of(run, self._a2ui)
        if page.offer is None:
            return None
        words = Words.of(run, application.words(run, page.context))
        return SurfaceTool(surfaces_of(run, page.offer), words)

    async def aclose(self) -> None:
        """Close what the function of a graph opened."""
        await self._graph.aclose()


@cache
def _expect_known_versions() -> None:
    expect_names("langchain", NAMES)
    expect_names("langgraph", names_of_nodes())


def _unwrapped(found: Any, config: Any) -> tuple[Any, Any]:
    """The graph inside of an official server's agent, and its configuration."""
    module = type(found).__module__.partition(".")[0]
    if module not in ("ag_ui_langgraph", "copilotkit") or not hasattr(found, "graph"):
        return found, config
    return found.graph, getattr(found, "config", None) if config is None else config


# --- the graph of an adapter: checked, hooked into, and opened where it has to be ---

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
