"""What can be known of a graph before it runs: its tools, and the names of its state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from pydantic import BaseModel

from agui_bridge.protocol.threads.records import Json


def tools_of(graph: Any) -> Mapping[str, BaseTool]:
    """The tools of a graph's `ToolNode`s and of its subgraphs', by name."""
    return {tool.name: tool for tool in _tools(graph)}


def parameters_of(tool: BaseTool | None) -> Mapping[str, Json] | None:
    """JSON Schema of what a model may call a tool with; None if it is not known."""
    schema: Any = tool.tool_call_schema if tool is not None else None
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return _closed(schema.model_json_schema())
    return schema if isinstance(schema, Mapping) else None


def input_names(graph: Any) -> Sequence[str]:
    """Names of the state that a graph takes when it begins."""
    builder = getattr(graph, "builder", None)
    if builder is None:
        return ()
    known = builder.schemas.get(builder.input_schema, {})
    return [name for name in known if name in graph.channels]


def output_names(graph: Any) -> Sequence[str]:
    """Names of the state that a graph gives."""
    names = graph.output_channels
    return () if isinstance(names, str) else names


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """A model's schema that refuses what the model would leave out without a word."""
    for part in (schema, *schema.get("$defs", {}).values()):
        if "properties" in part:
            part.setdefault("additionalProperties", False)
    return schema


def _tools(graph: Any) -> Iterator[BaseTool]:
    for _, subgraph in graph.get_subgraphs():
        yield from _tools(subgraph)
    for node in graph.nodes.values():
        if isinstance(node.bound, ToolNode):
            yield from node.bound.tools_by_name.values()
