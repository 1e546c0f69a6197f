"""Where a channel tells no arguments, none come in what an agent, or its framework, says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agui_bridge.channels.slack import ANSWER, notice_blocks, view
from agui_bridge.channels.smtp import Smtp
from agui_bridge.channels.webhooks import Webhook, card
from agui_bridge.protocol.answers.asks import with_call, without_arguments
from tests.channels.bridges import SECRET, notice

ARGS: dict[str, Any] = {"iban": "SECRET", "deep": [{"b": "SECRET"}]}
SAID = {
    "a call that the conversation does not have": with_call("Pay?", "pay", ARGS),
    "its arguments as text": with_call("Pay?", "pay", json.dumps(ARGS)),
    "arguments that are no JSON": with_call("Pay?", "pay", '{"iban": "SECRET'),
    "arguments in a list": with_call(None, "pay", ["SECRET"]),
    "LangChain's own words": f"Pay?\n\nTool: pay\nArgs: {ARGS}",
    "a value of a graph": json.dumps({"action": "pay", "args": ARGS}),
    "arguments amid a sentence": f"Run pay {json.dumps(ARGS)} now?",
    "arguments that are cut off": 'Run pay {"iban": "SECRET…',
}


@pytest.mark.parametrize("message", SAID.values(), ids=SAID)
@pytest.mark.parametrize("channel", ["Slack", "its form", "Teams", "mail", "webhook"])
def test_no_arguments_are_told(channel: str, message: str) -> None:
    def told(*, show_args: bool) -> str:
        asked = notice(tool_call=None, message=message, permits=True, allowed=())
        schema = {"type": "object", "properties": {"why": {"type": "string"}}}
        plain = notice(tool_call=None, message=message, response_schema=schema, allowed=())
        mail = Smtp("smtp://localhost", "a@example.org", {}, show_args=show_args)
        hook = Webhook("https://example.org", SECRET, show_args=show_args)
        made: Any = {
            "Slack": lambda: notice_blocks(asked, show_args=show_args),
            "its form": lambda: view(plain.ask, ANSWER, "ref", show_args=show_args),
            "Teams": lambda: card(asked, show_args=show_args),
            "mail": lambda: mail._text(asked, "bob"),
            "webhook": lambda: hook._body(asked).decode(),
        }
        return json.dumps(made[channel]())

    assert "SECRET" in told(show_args=True)
    assert "SECRET" not in told(show_args=False)


@pytest.mark.parametrize("said", ["", "Pay 5 to [urgent] {bob}?", "f(x) = {x | x > 1}", "a [b"])
def test_other_words_stay(said: str) -> None:
    assert without_arguments(said) == said
