"""Graphs made by hand, and bridges with them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from agui_bridge import Bridge
from agui_bridge_langgraph import LangGraphAdapter

__all__ = ["SCHEMAS", "State", "flow", "says", "serving"]

SCHEMAS = "response_schema" in inspect.signature(interrupt).parameters
State = dict[str, Any]


def serving(graph: Any, **options: Any) -> Bridge:
    """A bridge with the graph, not yet begun."""
    bridge = Bridge("memory:")
    bridge.add("graph", LangGraphAdapter(graph, **options))
    return bridge


def flow(*nodes: Callable[..., Any], schema: Any = MessagesState, **compiled: Any) -> Any:
    """Nodes one after the other."""
    builder = StateGraph(schema)
    before = START
    for node in nodes:
        builder.add_node(node.__name__, node)
        builder.add_edge(before, node.__name__)
        before = node.__name__
    return builder.compile(checkpointer=compiled.pop("checkpointer", InMemorySaver()), **compiled)


def says(text: str) -> State:
    """What a node returns that says something."""
    return {"messages": [AIMessage(text)]}
