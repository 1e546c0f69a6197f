"""What a server says once it listens: where, its agents, its store, and a line to try."""

from __future__ import annotations

import os
import re
import sys
from typing import Any, Final

from rich.console import Console, Group
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from agui_bridge import __version__
from agui_bridge.bridge.bridge import Bridge
from agui_bridge.http.app.playground import PLAYGROUND

__all__ = ["base_url", "show_banner", "store_label"]

_PASSWORD: Final = re.compile(r"(?<=//)([^/@?#:]*:).*(?=@)", re.DOTALL)
_QUERY: Final = re.compile(r"\?.*", re.DOTALL)
_MOST_SHOWN: Final = 20

_INPUT: Final = (
    '{"threadId": "t1", "runId": "r1",',
    ' "messages": [{"id": "m1", "role": "user", "content": "Hello"}]}',
)


def base_url(host: str, port: int) -> str:
    """Where a browser on this machine finds it."""
    if host in ("0.0.0.0", "::", ""):
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def store_label(store: Any) -> str:
    """A store's address without its password and options, which may be secret."""
    if not isinstance(store, str):
        return type(store).__name__
    label = _QUERY.sub("?…", _PASSWORD.sub(r"\1***", store))
    return f"{label} (lost when it ends)" if store == "memory:" else label


def show_banner(bridge: Bridge, host: str, port: int) -> None:
    """Tell on standard output: a panel in a terminal, plain lines in a pipe."""
    console = Console(highlight=False, soft_wrap=True)
    base = base_url(host, port)
    title = f"agui-bridge {__version__} listens on {base}"
    with console.capture() as said:
        if console.is_terminal:
            body = Group(_agents(bridge, base), Text(), _places(bridge, base))
            title = f"[bold green]{title}[/]"
            console.print(Panel(body, title=title, title_align="left", expand=False))
            console.print("\n[bold]Try it[/] (Ctrl-C ends it):")
        else:
            console.print("\n".join([title, *_plain(bridge, base), "Try it:"]), markup=False)
        for line in _curl(bridge, base):
            console.print(f"  {line}", markup=False)
    try:
        sys.stdout.write(said.get())
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read it has enough; the server goes on, and writes there no more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _plain(bridge: Bridge, base: str) -> list[str]:
    names = list(bridge.agents)
    lines = [f"  agent {name}: {base}/agents/{name}" for name in names[:_MOST_SHOWN]]
    if (more := len(names) - _MOST_SHOWN) > 0:
        lines.append(f"  and {more} more agents: {base}/agents")
    if bridge.playground:
        lines.append(f"  playground: {base}{PLAYGROUND}")
    return [*lines, f"  store {store_label(bridge.store)}"]


def _agents(bridge: Bridge, base: str) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, agent in list(bridge.agents.items())[:_MOST_SHOWN]:
        table.add_row(
            f"[bold]{escape(name)}[/]",
            f"{base}/agents/{name}",
            f"[dim]{escape(agent.description)}[/]",
        )
    more = len(bridge.agents) - _MOST_SHOWN
    if more > 0:
        table.add_row("…", f"{base}/agents", f"[dim]{more} more[/]")
    return table


def _places(bridge: Bridge, base: str) -> Text:
    shown = Text.assemble(("store ", "bold"), store_label(bridge.store))
    if bridge.playground:
        shown.append("\nplayground ", "bold").append(f"{base}{PLAYGROUND}")
    return shown


def _curl(bridge: Bridge, base: str) -> list[str]:
    lines = [f"curl -N {base}/agents/{next(iter(bridge.agents))} \\"]
    if bridge.authenticate is not None:
        lines.append("  -H 'Authorization: Bearer YOUR_TOKEN' \\")
    lines.append("  -H 'Content-Type: application/json' \\")
    lines += [f"  -d '{_INPUT[0]}", f"      {_INPUT[1]}'"]
    return lines
