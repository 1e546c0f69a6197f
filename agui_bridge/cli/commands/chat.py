"""`agui-bridge chat`."""

from __future__ import annotations

import contextlib
import logging
from shlex import quote
from typing import TYPE_CHECKING

import click

from agui_bridge.cli.faults import Command
from agui_bridge.cli.options import read_address, read_header
from agui_bridge.errors import ConfigurationError
from agui_bridge.terminal import Terminal

if TYPE_CHECKING:
    from agui_bridge.cli.chat.screen import Screen
    from agui_bridge.client.conversation import ClientDialectName


@click.command(cls=Command)
@click.argument("url")
@click.option("--agent", help="The agent of an agui-bridge server at URL.")
@click.option("--thread", help="The thread to go on with.")
@click.option(
    "--dialect",
    type=click.Choice(["1.1", "1.0", "0.x", "langgraph", "draft"]),
    default="1.1",
    help="How pauses are told and answered.",
)
@click.option(
    "--header", multiple=True, help='A header of every request, "Name: value"; may be repeated.'
)
def chat(
    url: str,
    agent: str | None,
    thread: str | None,
    dialect: ClientDialectName,
    header: tuple[str, ...],
) -> None:
    """Talk to an agent in the terminal.

    URL is an AG-UI endpoint; or an agui-bridge server, with --agent if it has
    several.

    Text is streamed, tool calls are shown, and what the agent asks is asked at
    the prompt: approvals, confirmations, forms. Ctrl-C stops a run and keeps
    what it said; Ctrl-D ends the chat. Any AG-UI endpoint will do.

    Examples:
      agui-bridge chat http://127.0.0.1:8787 --agent ops
      agui-bridge chat http://127.0.0.1:8787 --agent ops --thread t1
      agui-bridge chat https://example.com/agui --header "Authorization: Bearer …"
    """
    # httpx takes a while to import, and only this command needs it.
    from agui_bridge.cli.chat import loop as chat_loop
    from agui_bridge.cli.chat.screen import Screen
    from agui_bridge.client import Client

    # Python on Windows has none; there the lines are typed without it.
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401  # lets `input` edit lines and remember them
    headers = dict(map(read_header, header))
    endpoint = _endpoint(url, agent, headers)
    client = Client(endpoint, thread_id=thread, dialect=dialect, headers=headers)
    screen = Screen(Terminal())
    logging.getLogger("agui_bridge").addHandler(_Notes(screen))
    screen.note(f"{endpoint}, thread {client.thread_id}. /help tells what else there is.")
    try:
        chat_loop.chat(client, screen, load=thread is not None, headers=headers)
    finally:
        screen.note(f"To go on: add --thread {quote(client.thread_id)}")


class _Notes(logging.Handler):
    """What the client logs of a stream, as lines of the chat's own; each once."""

    def __init__(self, screen: Screen) -> None:
        super().__init__()
        self._screen = screen
        self._told: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Tell a line."""
        text = record.getMessage()
        if text not in self._told:
            self._told.add(text)
            self._screen.note(text)


def _endpoint(url: str, agent: str | None, headers: dict[str, str]) -> str:
    """The address to POST to.

    Raises:
        ConfigurationError: the server has several agents, or not this one.
        HttpError: it wants to know who asks.
        NotReached: no connection.
    """
    base = read_address(url)
    if agent is None and base.count("/") > 2:
        return url
    import httpx

    from agui_bridge.cli.chat.loop import SIGN_IN
    from agui_bridge.client import HttpError, NotReached

    try:
        found = httpx.get(f"{base}/agents", headers=headers)
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        # The name of a host may be none.
        raise NotReached(
            f"{base} can't be reached: {error}\nCheck that the server runs there, and the address."
        ) from None
    if found.status_code == httpx.codes.UNAUTHORIZED:
        raise HttpError(found.status_code, f"{base} wants to know who asks.\n{SIGN_IN}")
    try:
        names = [str(entry["name"]) for entry in found.json()["agents"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return url if agent is None else f"{base}/agents/{agent}"
    if agent is not None and (agent in names or not names):
        return f"{base}/agents/{agent}"
    if agent is not None:
        raise ConfigurationError(
            f"{base} has no agent {agent!r}.\nChoose one with --agent: {', '.join(names)}"
        )
    if len(names) != 1:
        raise ConfigurationError(
            f"{base} has {len(names)} agents.\nChoose one with --agent: {', '.join(names)}"
        )
    return f"{base}/agents/{names[0]}"
