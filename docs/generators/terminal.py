"""The picture of the terminal chat, of a real conversation: `python -m docs.generators.terminal`.

Not among the files that are compared: it is another one with another version of rich.
"""

from __future__ import annotations

import io
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Final

import httpx
from rich.console import Console
from rich.text import Text

from agui_bridge import Bridge, FunctionRun
from agui_bridge.cli.chat.loop import chat
from agui_bridge.cli.chat.screen import Screen
from agui_bridge.client import Client
from agui_bridge.terminal import Terminal, paint

__all__ = ["PICTURE", "picture_of_a_chat"]

PICTURE: Final = Path(__file__).parent.parent / "terminal-chat.svg"
WIDTH: Final = 76
TYPED: Final = ("Clean up the users table", "e", '{"table": "users", "limit": 100}', "/quit")

_FONTS: Final = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
"""They are elsewhere on the web; a reader's own monospace font will do."""


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

    return bridge


def picture_of_a_chat(typed: Iterable[str] = TYPED) -> str:
    """What the terminal shows of a conversation, as SVG.

    Args:
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
    client = Client("http://localhost/agents/ops", http=http)
    chat(client, Screen(terminal, ask), load=False)
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text.from_ansi(shown.getvalue()))
    svg = console.export_svg(title="agui-bridge chat", unique_id="chat")
    return _FONTS.sub("", svg)


if __name__ == "__main__":
    PICTURE.write_text(picture_of_a_chat(), encoding="utf-8")
    print(f"docs/{PICTURE.name}: written")
