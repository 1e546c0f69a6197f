"""A question that asks people to open an address: a link to click, which nobody else follows."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import pytest

from agui_bridge.adapters import Ask
from agui_bridge.protocol.threads.records import ToolCall
from tests.http.inbox.conftest import Serving

SCHEMA: Final = {
    "type": "object",
    "required": ["opened"],
    "properties": {"opened": {"type": "boolean", "title": "I have opened the address"}},
}


def asking(url: Any, call: ToolCall | None = None) -> Ask:
    told = {
        "mcp": {"server": "bank", "tool": "pay", "mode": "url", "url": url, "host": "a.example"}
    }
    if call is not None:
        return Ask("n", "tool_call", "Pay?", call, metadata=told)
    return Ask("n", "mcp:elicitation_url", "Sign in.", response_schema=SCHEMA, metadata=told)


async def test_an_address_is_a_link_that_only_a_click_opens(serving: Serving) -> None:
    opened: list[Any] = []
    bank = await asyncio.start_server(lambda *both: opened.append(both), "127.0.0.1", 0)
    url = f"http://127.0.0.1:{bank.sockets[0].getsockname()[1]}/sign?in=1&as=ann"
    async with bank, serving(asking(url)) as site, site.person() as ann:
        [path] = await site.ask()
        page = await ann.look(path)
        assert page.links["Open 127.0.0.1"] == url
        assert 'target="_blank" rel="noopener noreferrer">Open 127.0.0.1</a>' in page.response.text
        done = await ann.press(page, "Yes")
        [row] = await site.rows()
    assert (done.status, row.answer.payload if row.answer else None) == (200, {"opened": True})
    assert opened == []


NO_LINKS: Final[Mapping[str, Ask]] = {
    "a script": asking("javascript:alert(1)"),
    "no https": asking("http://bank.example/"),
    "a name before the host": asking("https://bank.example@evil.example/"),
    "no text": asking(["https://bank.example/"]),
    "of a call": asking("https://bank.example/", ToolCall("c", "pay", {})),
}


@pytest.mark.parametrize("ask", NO_LINKS.values(), ids=NO_LINKS)
async def test_what_is_no_proper_address_is_no_link(serving: Serving, ask: Ask) -> None:
    async with serving(ask) as site, site.person() as ann:
        page = await ann.look((await site.ask())[0])
        assert not [words for words in page.links if words.startswith("Open")]


async def test_letters_that_look_alike_are_told_apart(serving: Serving) -> None:
    async with serving(asking("https://bаnk.example/")) as site, site.person() as ann:  # noqa: RUF001
        page = await ann.look((await site.ask())[0])
        assert "Open xn--bnk-6cd.example" in page.links
