"""A question of a tool's own names its call, also where the conversation may not have it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pytest

from agui_bridge.adapters import Ask
from agui_bridge.protocol.threads.records import ToolCall
from agui_bridge_mastra.pauses import Waiting
from agui_bridge_nexau.pauses import ask_of
from agui_bridge_nexau.reader import CallSeen

CALL: Final = ToolCall("c1", "wire_money", {"amount": 9})
ASKS: Final[Mapping[str, Callable[[], Ask]]] = {
    "mastra": lambda: Waiting("k", False, "c1", "wire_money", {"amount": 9}).ask(),
    "nexau": lambda: ask_of(CallSeen("c1", "wire_money", '{"amount": 9}')),
}


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_a_question_of_a_tools_own_names_its_call(ask: Callable[[], Ask]) -> None:
    assert ask().about == CALL
