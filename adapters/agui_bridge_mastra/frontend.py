"""What the application has and Mastra gets: its tools, their results, its context and its state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agui_bridge.adapters import Run
from agui_bridge.protocol.answers.unexecuted import NOT_GIVEN
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import result_of, text_of

_KEY: Final = "ag-ui"
"""Where Mastra's own AG-UI package puts the context, too. No client chooses another key: an
agent may take what it finds there for the operator's."""


def client_tools(run: Run) -> dict[str, Json]:
    """The application's tools as Mastra's `clientTools`: it calls them, and ends its run."""
    return {
        tool.name: {
            "id": tool.name,
            "description": tool.description,
            "inputSchema": tool.parameters or {"type": "object"},
        }
        for tool in run.tools
    }


def request_context(run: Run) -> dict[str, Json]:
    """The application's context and state, for Mastra's `requestContext`; empty without any."""
    context = [item.model_dump(mode="json", by_alias=True) for item in run.input.context or ()]
    told: dict[str, Json] = {}
    if context:
        told["context"] = context
    if run.state:
        told["state"] = run.state
    return {_KEY: told} if told else {}


def later_results(run: Run) -> list[dict[str, Json]]:
    """Results of the application's tools that came after a person wrote on, in words.

    Mastra takes no call and no result before a message of a user's, and drops a call without one.
    """
    names = {tool.name for tool in run.tools}
    came = {m["toolCallId"]: result_of(m) for m in run.unkept if m["role"] == "tool"}
    calls = (call for m in run.raw_messages for call in m.get("toolCalls") or ())
    return [
        {
            "role": "user",
            "content": f"Result of {call['function']['name']}({call['function']['arguments']}), "
            f"which came later: {text_of(came[call['id']])}",
        }
        for call in calls
        if call["function"]["name"] in names and came.get(call["id"], NOT_GIVEN) != NOT_GIVEN
    ]


def messages_of_calls(
    calls: Mapping[str, Mapping[str, Any]], results: Mapping[str, Json]
) -> list[dict[str, Json]]:
    """The calls and what came of them, as messages for Mastra's model.

    Args:
        calls: as `Paused.frontend` has them.
        results: by id on the wire.
    """
    told = [{"type": "tool-call", **call} for call in calls.values()]
    came = [
        {
            "type": "tool-result",
            "toolCallId": call["toolCallId"],
            "toolName": call["toolName"],
            "result": results[own],
        }
        for own, call in calls.items()
    ]
    return [{"role": "assistant", "content": told}, {"role": "tool", "content": came}]
