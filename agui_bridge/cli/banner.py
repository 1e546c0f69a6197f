"""What a server says once it listens: where, its agents, its store, and a line to try."""

from __future__ import annotations

import os
import re
import sys
from typing import Any, Final

from agui_bridge import __version__
from agui_bridge.bridge.bridge import Bridge
from agui_bridge.http.app.pages import PLAYGROUND
from agui_bridge.terminal import Terminal, paint

_PASSWORD: Final = re.compile(r"(?<=//)([^/@?#:]*:).*(?=@)", re.DOTALL)
_QUERY: Final = re.compile(r"\?.*", re.DOTALL)
_MOST_SHOWN: Final = 20

_INPUT: Final = (
    # Pasted again it says "Hello" again: the same ids would be a repetition.
    """{"threadId": "t1", "runId": "r'$RANDOM'",""",
    """ "messages": [{"id": "m'$RANDOM'", "role": "user", "content": "Hello"}]}""",
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


def show_banner(bridge: Bridge, host: str, port: int, terminal: Terminal | None = None) -> None:
    """Tell on standard output: below a title in a terminal, plain lines in a pipe."""
    terminal = terminal or Terminal()
    base = base_url(host, port)
    title = f"agui-bridge {__version__} listens on {base}"
    try:
        if terminal.is_terminal:
            lines = [*_agents(bridge, base, terminal), "", *_places(bridge, base)]
            terminal.frame(paint(title, "green", "bold"), lines)
            terminal.say(f"\n{paint('Try it', 'bold')} (Ctrl-C ends it):")
        else:
            terminal.say("\n".join([title, *_plain(bridge, base), "Try it:"]))
        terminal.say("\n".join(f"  {line}" for line in _curl(bridge, base)))
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


def _agents(bridge: Bridge, base: str, terminal: Terminal) -> list[str]:
    rows = [
        (paint(name, "bold"), f"{base}/agents/{name}", paint(agent.description, "dim"))
        for name, agent in list(bridge.agents.items())[:_MOST_SHOWN]
    ]
    more = len(bridge.agents) - _MOST_SHOWN
    if more > 0:
        rows.append(("…", f"{base}/agents", paint(f"{more} more", "dim")))
    return terminal.table_lines(rows, beside=2)


def _places(bridge: Bridge, base: str) -> list[str]:
    lines = [f"{paint('store', 'bold')} {store_label(bridge.store)}"]
    if bridge.playground:
        lines.append(f"{paint('playground', 'bold')} {base}{PLAYGROUND}")
    return lines


def _curl(bridge: Bridge, base: str) -> list[str]:
    lines = [f"curl -N {base}/agents/{next(iter(bridge.agents))} \\"]
    if bridge.authenticate is not None:
        lines.append("  -H 'Authorization: Bearer YOUR_TOKEN' \\")
    lines.append("  -H 'Content-Type: application/json' \\")
    lines += [f"  -d '{_INPUT[0]}", f"      {_INPUT[1]}'"]
    return lines
