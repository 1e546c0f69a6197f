"""Wherever people read what an agent wrote, nothing in it hides."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from ag_ui.core import Interrupt

from agui_bridge.adapters import Ask
from agui_bridge.channels.slack import ANSWER, fallback, notice_blocks, view
from agui_bridge.channels.smtp import Smtp
from agui_bridge.channels.webhooks import card
from agui_bridge.cli.chat.screen import Screen
from agui_bridge.client import Client
from agui_bridge.http.inbox.forms import argument_fields
from agui_bridge.protocol.threads.records import ToolCall
from agui_bridge.terminal import Terminal
from agui_bridge.text.visible import visible
from tests.channels.bridges import notice
from tests.channels.receivers import Mailbox
from tests.http.inbox.conftest import Serving, serving
from tests.text.reading import hides_nothing
from tests.text.texts import HIDING

__all__ = ["serving"]

# No store keeps half of a pair.
HIDDEN = {text: shown for text, shown in HIDING.values() if "\ud800" not in text}
MESSAGE = " | ".join(HIDDEN)
TOOL = "p\u0430y\u200b"
ARGS: dict[str, Any] = {text: {"deep": [text]} for text in HIDDEN}
SCHEMA = {
    "type": "object",
    "properties": {
        "field": {"type": "string", "title": MESSAGE, "description": MESSAGE, "default": MESSAGE},
        "choice": {"enum": list(HIDDEN), "title": MESSAGE},
    },
}


def _words(blocks: Any) -> Iterator[str]:
    """All texts in something of JSON."""
    for value in blocks.values() if isinstance(blocks, dict) else blocks:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            yield from _words(value)


def _slack() -> str:
    told = notice(tool_call=ToolCall("c", TOOL, ARGS), message=MESSAGE, asked_by=MESSAGE)
    asked = notice(tool_call=None, message=MESSAGE, response_schema=SCHEMA)
    form = view(asked.ask, ANSWER, "{}")
    assert form is not None
    blocks = [*notice_blocks(told, show_args=True), form, {"text": fallback(told)}]
    return "\n".join(_words(blocks))


def _teams() -> str:
    told = notice(tool_call=ToolCall("c", TOOL, ARGS), message=MESSAGE, asked_by=MESSAGE)
    return re.sub(r"\\(.)", r"\1", "\n".join(_words(card(told, show_args=True))))


async def _mail() -> str:
    from aiosmtpd.controller import Controller

    from tests.support.ports import free_port

    mailbox, port = Mailbox(), free_port()
    controller = Controller(mailbox, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        channel = Smtp(
            f"smtp://127.0.0.1:{port}?starttls=never",
            "a@example.org",
            {"bob": "bob@example.org"},
            show_args=True,
        )
        told = notice(tool_call=ToolCall("c", TOOL, ARGS), message=MESSAGE, asked_by=MESSAGE)
        await channel.send(told)
    finally:
        controller.stop()
    [mail] = mailbox.mails
    return f"{mail['Subject']}\n{mail.get_content()}"


def _terminal(capsys: pytest.CaptureFixture[str]) -> str:
    screen = Screen(Terminal(width=10_000))
    client = Client("http://127.0.0.1:9/agui")
    proposal = {"proposal": {"tool": TOOL, "args": ARGS}}
    ask = Interrupt(id="i", reason=MESSAGE, message=MESSAGE, metadata=proposal)
    screen.question(client, ask, "")
    screen.show({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": TOOL})
    screen.show({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": json.dumps(ARGS)})
    screen.show({"type": "TOOL_CALL_END", "toolCallId": "c"})
    screen.fail(MESSAGE)
    return capsys.readouterr().out


def _hides_nothing(text: str) -> None:
    assert hides_nothing(text)
    assert r"p\u0430y\u200b" in text
    for hidden, shown in HIDDEN.items():
        assert shown in text
        # What is marked twice reads like a text that says the mark.
        if "\\" not in hidden:
            assert visible(shown) not in text


@pytest.mark.parametrize("channel", ["Slack", "Teams", "mail"])
async def test_a_notice_hides_nothing(channel: str) -> None:
    told = await _mail() if channel == "mail" else {"Slack": _slack, "Teams": _teams}[channel]()
    _hides_nothing(told)


def test_the_terminal_hides_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    _hides_nothing(_terminal(capsys))


async def test_a_question_s_page_and_both_lists_hide_nothing(serving: Serving) -> None:
    call = ToolCall("c", TOOL, ARGS)
    schema = {
        "type": "object",
        "properties": {"approved": {"type": "boolean"}, "editedArgs": SCHEMA},
    }
    asks = [
        Ask("n", "tool_call", MESSAGE, call, schema),
        Ask("m", "input", MESSAGE, response_schema=SCHEMA, metadata={"note": ARGS}),
    ]
    async with serving(*asks) as site, site.person() as ann:
        paths = await site.ask()
        pages = [await ann.look(path) for path in paths]
        listed = await ann.look()
        await ann.press(pages[0], "Decline")
        decided = await ann.look("/inbox/decided")

    for page in (*pages, listed, decided):
        text = html.unescape(re.sub(r'="[^"]*"', "", page.response.text))
        assert hides_nothing(text)
    for page in (pages[0], listed):
        _hides_nothing(page.text)


def test_a_text_that_hides_something_is_json_in_the_inbox_form_and_stays_what_it_is() -> None:
    arguments = {"type": "object", "properties": {"to": {"type": "string"}}}
    schema = {"type": "object", "properties": {"editedArgs": arguments}}
    call = ToolCall("c", "send", {"to": "a\u200b"})
    told = notice(tool_call=call, response_schema=schema)
    form = argument_fields(told.ask)
    [field] = form.shown()

    assert (field.kind, field.value) == ("json", r'"a\u200b"')
    assert form.read({field.name: [field.value]}) == ({"to": "a\u200b"}, {})
    assert form.read({field.name: [r'"b\u200b"']}) == ({"to": "b\u200b"}, {})
