"""Questions in the Agent Inbox's shape."""

from __future__ import annotations

from typing import Any

from langgraph.types import Interrupt

from agui_bridge.protocol.threads.records import ToolCall
from agui_bridge_langgraph.calls.open_calls import OpenCalls
from agui_bridge_langgraph.questions import asking


def test_what_takes_a_response_alone_names_the_call_that_it_is_about() -> None:
    args = {"amount": 9}
    value: dict[str, Any] = {
        "action_request": {"action": "wire_money", "args": args},
        "config": {"allow_respond": True},
    }
    (ask,) = asking(Interrupt(value=value, id="i"), OpenCalls([], {}, {}), lambda _: None).asks
    assert ask.about == ToolCall("i/0", "wire_money", args)
