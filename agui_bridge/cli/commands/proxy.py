"""`agui-bridge proxy`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from agui_bridge.adapters import load_adapter
from agui_bridge.bridge.bridge import Bridge
from agui_bridge.cli.commands.serve import listen
from agui_bridge.cli.faults import Command, debug_option
from agui_bridge.cli.options import (
    log_options,
    server_flags,
    server_options,
    shared_flags,
    store_option,
)
from agui_bridge.config import load_launch
from agui_bridge.engine.input.settings import Settings
from agui_bridge.errors import ConfigurationError
from agui_bridge.yaml_files.document import read_yaml

_PEERS = (
    *("langgraph", "adk", "agent-framework", "agno"),
    *("crewai", "mastra", "pydantic-ai", "strands", "ag2"),
)


@click.command(cls=Command)
@click.argument("url")
@click.option("--name", default="agent", help="The agent's name here.")
@click.option(
    "--dialect",
    type=click.Choice(["auto", "1.1", "1.0", "0.x", "draft"]),
    default="auto",
    help="The dialect of the server behind; auto finds it out.",
)
@click.option(
    "--peer",
    type=click.Choice(["auto", *_PEERS]),
    metavar="PEER",
    default="auto",
    help=f"Who made the server: {', '.join(_PEERS)}; auto goes by what the server sends.",
)
@click.option(
    "--history",
    type=click.Choice(["full", "new"]),
    help="What is sent: the full conversation, or only new messages, for a server that keeps it "
    "itself.  [default: as the peer needs it]",
)
@click.option(
    "--tool-schemas",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="JSON or YAML file with a JSON Schema for the arguments of each tool, so that people may "
    "edit them.",
)
@click.option(
    "--header",
    multiple=True,
    help='A header of every request to URL, "Name: value"; may be repeated.',
)
@click.option(
    "--timeout",
    type=float,
    default=300.0,
    metavar="SECONDS",
    help="How long the server at URL may be silent.",
)
@click.option(
    "--stop-url", metavar="URL", help="Where to post a stop; {threadId} stands for the thread."
)
@click.option(
    "--expires-in",
    type=float,
    metavar="SECONDS",
    help="When a question expires, if the server does not say.",
)
@click.option(
    "--cors-origin",
    multiple=True,
    metavar="ORIGIN",
    help="Origin whose pages may call the bridge; may be repeated.",
)
@server_options
@store_option
@log_options
@debug_option
def proxy(
    url: str,
    name: str,
    dialect: str,
    peer: str,
    history: str | None,
    tool_schemas: Path | None,
    header: tuple[str, ...],
    timeout: float,
    stop_url: str | None,
    expires_in: float | None,
    cors_origin: tuple[str, ...],
    host: str | None,
    port: int | None,
    anonymous: bool,
    store: str | None,
    log_format: str | None,
    log_level: str | None,
) -> None:
    """Stand in front of an AG-UI endpoint, and make its questions safe.

    URL is the endpoint, to which runs are posted. Clients talk to the bridge
    instead. An answer reaches the agent once, however often it is sent, and to
    however many processes. With a store that lasts, questions survive restarts.

    Examples:
      agui-bridge proxy http://127.0.0.1:8000/ --store sqlite:///proxy.db
      agui-bridge proxy http://127.0.0.1:8000/ --dialect 0.x --port 9000
      agui-bridge proxy http://127.0.0.1:8000/agui --peer agno --tool-schemas t.json

    For authentication, several agents or secrets, write a configuration file with
    `adapter: agui`, and use `serve`.
    """
    flags = {
        **server_flags(host, port, anonymous),
        **shared_flags(store, log_format, log_level),
    }
    launch = load_launch(flags={path: value for path, value in flags.items() if value is not None})

    def make() -> Bridge:
        bridge = Bridge(
            launch.store or "memory:",
            settings=Settings(expires_in=expires_in),
            cors_origins=cors_origin,
        )
        adapter = load_adapter("agui")(
            url,
            dialect=dialect,
            peer=peer,
            history=history,
            tool_schemas=_schemas(tool_schemas),
            headers=_headers(header),
            timeout=timeout,
            stop_url=stop_url,
        )
        bridge.add(name, adapter)
        return bridge

    listen(launch, make)


def _schemas(path: Path | None) -> dict[str, Any] | None:
    """What a file says of the tools' arguments; JSON is YAML."""
    return read_yaml(path).values if path is not None else None


def _headers(lines: tuple[str, ...]) -> dict[str, str]:
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise ConfigurationError("--header should be 'Name: value'.")
        headers[name.strip()] = value.strip()
    return headers
