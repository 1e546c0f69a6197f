"""What frameworks write of a call by themselves is not told as the agent's own words."""

from __future__ import annotations

import pytest

from agui_bridge.protocol.answers.asks import own_words

ARGS = {"to": "bob", "deep": [1, None]}
SAID = {
    "LangChain": (f"Tool execution requires approval\n\nTool: pay\nArgs: {ARGS}", None),
    "LangChain with words": (f"Look twice.\n\nTool: pay\nArgs: {ARGS}", "Look twice."),
    "Pydantic AI": ('Approve pay({"to":"bob", "deep":[1,null]})?', None),
    "another call in the same words": ('Approve pay({"to":"eve"})?', 'Approve pay({"to":"eve"})?'),
    "no arguments": ("Approve pay(all)?", "Approve pay(all)?"),
    "nothing": (None, None),
    "no words": ("", None),
}


@pytest.mark.parametrize(("said", "told"), SAID.values(), ids=SAID)
def test_a_call_that_is_repeated_is_not_told(said: str | None, told: str | None) -> None:
    assert own_words(said, "pay", ARGS) == told
