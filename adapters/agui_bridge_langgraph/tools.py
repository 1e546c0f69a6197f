"""What can be known of a graph before it runs: its tools, and the names of its state."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, Tool
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
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
        tool: the tool; one of a class of its author's stays the same, whose state it may have.
        needed: takes it.
    """
    if tool is None or type(tool) not in (Tool, StructuredTool):
        return tool
    told = ("", None) if tool.response_format == "content_and_artifact" else ""
    made: dict[str, Any] = {}

    def without(returned: Any) -> Any:
        if not isinstance(returned, NeedsInput):
            return returned
        needed(returned)
        return told

    if (func := getattr(tool, "func", None)) is not None:

        @functools.wraps(func)
        def called(*args: Any, **kwargs: Any) -> Any:
            return without(func(*args, **kwargs))

        made["func"] = called
    if (coroutine := getattr(tool, "coroutine", None)) is not None:

        @functools.wraps(coroutine)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            return without(await coroutine(*args, **kwargs))

        made["coroutine"] = awaited
    return tool.model_copy(update=made)


def needed_of(result: Any, made: Sequence[NeedsInput]) -> NeedsInput | None:
    """What a tool returned that is not watched, by the text that LangChain has made of it.

    Args:
        result: what became of it.
        made: all that was made while it ran.
    """
    if not isinstance(result, ToolMessage):
        return None
    found = [one for one in made if str(one) == result.content]
    # Of two with one text their state may differ: nobody can tell which one it was.
    return found[-1] if found and all(one == found[0] for one in found) else None


def is_told(result: Any, made: Sequence[NeedsInput] = ()) -> bool:
    """Whether a model would read what a tool has asked, as its result.

    Args:
        result: what became of the tool.
        made: all that was made while it ran, as far as that is known.
    """
    messages = [*tool_messages(result)]
    contents = [message.content for message in messages]
    if any(isinstance(one, str) and one.startswith(_TEXT) for one in contents):
        return True
    if made:
        parts = [result, *contents, *(message.artifact for message in messages)]
        return any(_NAME in str(part) for part in parts)
    return isinstance(result, NeedsInput)


_NAME: Final = NeedsInput.__name__
_TEXT: Final = f"{_NAME}(asks="
"""How LangChain tells of what a tool returned."""


def tool_messages(result: Any) -> Iterator[ToolMessage]:
    """The messages of what a tool gave: one, several, or a command that has some."""
    if isinstance(result, ToolMessage):
        yield result
    elif isinstance(result, Command):
        update = result.update
        yield from tool_messages(update.get("messages") if isinstance(update, dict) else update)
    elif isinstance(result, list | tuple):
        for one in result:
            yield from tool_messages(one)


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
