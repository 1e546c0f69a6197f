"""Who can carry a call out: a `ToolNode`, which passes the gate, or code that nobody sees.

A node of the author's may call a tool's function by itself, and keep the result to itself. So a
call without a result is known not to have begun only where no such code had it in its hands.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from langgraph.prebuilt import ToolNode

from agui_bridge_langgraph.calls.wire_ids import Call
from agui_bridge_langgraph.checkpoint import levels, messages_of, namespace_of, unanswered

_LANGCHAINS: Final = "langchain.agents.factory"
"""Where `create_agent` has its nodes from: a model's leaves its calls to the `ToolNode`."""


class Carriers:
    """Those of one graph.

    Args:
        graph: a compiled graph.
    """

    def __init__(self, graph: Any) -> None:
        self._models: set[str] = set()
        self._tools: dict[str, set[str]] = {}
        for path, node in _nodes(graph):
            if isinstance(node.bound, ToolNode):
                self._tools[path] = set(node.bound.tools_by_name)
            elif getattr(getattr(node.bound, "func", None), "__module__", "") == _LANGCHAINS:
                self._models.add(path)

    def spare(self, call: Call | None, state: Any) -> bool:
        """Whether nothing but a `ToolNode` can have begun a call.

        Args:
            call: the call; None of one that nothing is known of.
            state: the graph's, subgraphs included, once it stands; None where it can't be read.
        """
        if call is None:
            return False
        return _path(call.by) in self._models or self._waits(call, state)

    def _waits(self, call: Call, state: Any) -> bool:
        """Whether the node that stands next is the one that would carry the call out."""
        for level in levels(state) if state is not None else ():
            within = _path(namespace_of(level))
            tools = {
                name
                for node in level.next
                for name in self._tools.get(f"{within}|{node}".lstrip("|"), ())
            }
            for message, left in unanswered(messages_of(level.values)) if tools else ():
                is_its = message.id in call.ids or not call.ids
                if is_its and any(c["id"] == call.native and c["name"] in tools for c in left):
                    return True
        return False


def _nodes(graph: Any, within: str = "") -> Iterator[tuple[str, Any]]:
    """The nodes of a graph and of its subgraphs, by their path."""
    for name, node in graph.nodes.items():
        yield within + name, node
    for name, subgraph in graph.get_subgraphs():
        yield from _nodes(subgraph, f"{within}{name}|")


def _path(namespace: str) -> str:
    """Where in the graph a task is, without the ids of this run."""
    return "|".join(part.partition(":")[0] for part in namespace.split("|"))
