"""Tools that code called by their arguments alone: which of a model's calls each carried out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from langchain_core.messages import ToolMessage

from agui_bridge_langgraph.calls.open_calls import OpenCall
from agui_bridge_langgraph.calls.wire_ids import WireIds
from agui_bridge_langgraph.content import plain


class ByCode:
    """Those of one run.

    Args:
        wire: the ids of calls.
    """

    def __init__(self, wire: WireIds) -> None:
        self._wire = wire
        self._ended: list[tuple[str, str, Any, Any]] = []

    def note(self, task: str, tool: str, args: Any, output: Any) -> None:
        """Note that a tool came to its end.

        Args:
            task: namespace of the task that ran it.
            tool: its name.
            args: what it was called with.
            output: what it gave.
        """
        self._ended.append((task, tool, plain(args or {}), output))

    def results(self, calls: Iterable[OpenCall]) -> dict[str, tuple[str, Any, ToolMessage]]:
        """Tool, arguments and result by the id of the call: alike, and of the same task's model.

        Args:
            calls: those without a result, in order.
        """
        left, found = list(calls), dict[str, tuple[str, Any, ToolMessage]]()
        for task, tool, args, output in self._ended:
            alike = [o for o in left if (o.call.name, o.call.args) == (tool, args)]
            own = [o for o in alike if (known := self._wire.call(o.call.id)) and known.by == task]
            if own:
                left.remove(own[0])
                given = output if isinstance(output, str) else json.dumps(plain(output))
                message = ToolMessage(given, tool_call_id=own[0].native, name=tool)
                found[own[0].call.id] = (tool, args, message)
        self._ended.clear()
        return found
