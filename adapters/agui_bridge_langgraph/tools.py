"""What can be known of a graph before it runs: its tools, and the names of its state."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, Tool
from langgraph.prebuilt import ToolNode
from pydantic import BaseModel

from agui_bridge.frameworks.needs_input import NeedsInput
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


def watched(tool: BaseTool | None, needed: Callable[[NeedsInput], object]) -> BaseTool | None:
    """A tool whose function's `NeedsInput` is told, before LangChain makes a text of it.

    Args:
        tool: the tool; what has no function of its author's stays as it is.
        needed: takes it.
    """
    if not isinstance(tool, Tool | StructuredTool):
        return tool
    made: dict[str, Any] = {}
    if (func := tool.func) is not None:

        @functools.wraps(func)
        def called(*args: Any, **kwargs: Any) -> Any:
            return _told(func(*args, **kwargs), needed)

        made["func"] = called
    if (coroutine := tool.coroutine) is not None:

        @functools.wraps(coroutine)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            return _told(await coroutine(*args, **kwargs), needed)

        made["coroutine"] = awaited
    return tool.model_copy(update=made)


def _told(returned: Any, needed: Callable[[NeedsInput], object]) -> Any:
    if isinstance(returned, NeedsInput):
        needed(returned)
        return ""
    return returned


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
