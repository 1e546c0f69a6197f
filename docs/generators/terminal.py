"""The pictures of the terminal chat, of real conversations: `make pictures` draws them.

Not among the files that are compared: they are others with another version of rich.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Final, Literal

import httpx
from pydantic import BaseModel
from rich.console import Console
from rich.text import Text

from agui_bridge import Bridge, FunctionRun
from agui_bridge.cli.chat.loop import chat
from agui_bridge.cli.chat.screen import Screen
from agui_bridge.client import Client
from agui_bridge.terminal import Terminal, paint

FOLDER: Final = Path(__file__).parent.parent
WIDTH: Final = 76
PICTURES: Final = {
    "terminal-chat.svg": (
        "ops",
        ("Clean up the users table", "e", '{"table": "users", "limit": 100}', "/quit"),
    ),
    "terminal-form.svg": (
        "report",
        ("Write the report", "3", "soon", "2026", "?", "s", "/quit"),
    ),
}
"""By the file's name: who is talked to, and the lines that a person types."""

_FONTS: Final = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
"""They are elsewhere on the web; a reader's own monospace font will do."""


class Report(BaseModel):
    """What a report needs to know."""

    quarter: Literal["Q1", "Q2", "Q3", "Q4"]
    year: int


def _bridge() -> Bridge:
    bridge = Bridge("memory:")

    async def delete_rows(table: str, limit: int) -> str:
        return f"{limit} rows of {table} deleted"

    @bridge.agent("ops")
    async def ops(run: FunctionRun) -> AsyncIterator[str]:
        yield "1,234 users have not logged in for two years."
        approval = await run.approve(
            "delete_rows",
            {"table": "users", "limit": 1234},
            fn=delete_rows,
            message="Delete them?",
        )
        if approval.approved:
            yield f"Done: {await run.tool(approval, delete_rows)}."

    @bridge.agent("report")
    async def report(run: FunctionRun) -> AsyncIterator[str]:
        form = await run.ask("Which quarter shall the report cover?", schema=Report)
        assert form is not None
        yield f"The report for {form.quarter} {form.year} is written."
        shown = await run.frontend_tool("show_page", {"page": f"report-{form.year}"})
        yield f"Where it was to be shown: {shown}"

    return bridge


def picture_of_a_chat(agent: str, typed: Iterable[str]) -> str:
    """What the terminal shows of a conversation, as SVG.

    Args:
        agent: who is talked to.
        typed: the lines that a person types.
    """
    shown = io.StringIO()
    terminal = Terminal(shown, is_terminal=True, width=WIDTH)
    lines: Iterator[str] = iter(typed)

    def ask(prompt: str, prefill: str) -> str:
        line = next(lines)
        terminal.say(prompt + paint(line, "green", "bold"))
        return line

    # Without a socket: that the answer comes at once is all the same to a picture.
    transport = httpx.ASGITransport(_bridge().app(anonymous=True))
    http = httpx.AsyncClient(transport=transport)
    client = Client(f"http://localhost/agents/{agent}", http=http)
    chat(client, Screen(terminal, ask), load=False)
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text.from_ansi(shown.getvalue()))
    svg = console.export_svg(title="agui-bridge chat", unique_id="chat")
    return _FONTS.sub("", svg)


if __name__ == "__main__":
    # A picture has colours, whoever draws it.
    os.environ |= {"NO_COLOR": "", "TERM": "xterm"}
    for name, talk in PICTURES.items():
        (FOLDER / name).write_text(picture_of_a_chat(*talk), encoding="utf-8")
        print(f"docs/{name}: written")
