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

__all__ = ["proxy"]

_PEERS = (
    *("langgraph", "adk", "agent-framework", "agno"),
    *("crewai", "mastra", "pydantic-ai", "strands"),
)


@click.command(cls=Command)
@click.argument("url")
@click.option("--name", default="agent", help="The agent's name here.")
@click.option(
    "--dialect",
    type=click.Choice(["auto", "1.1", "1.0", "0.x", "draft"]),
    default="auto",
    help="That of the server; auto finds it out.",
)
@click.option(
    "--peer",
    type=click.Choice(["auto", *_PEERS]),
    metavar="PEER",
    default="auto",
    help=f"Who made the server: {', '.join(_PEERS)}; auto goes by what it says.",
)
@click.option(
    "--history",
    type=click.Choice(["full", "new"]),
    help="new for a server that keeps the conversation itself; by default as the peer needs it.",
)
@click.option(
    "--tool-schemas",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON or YAML file: JSON Schema of the arguments by tool, for edits.",
)
@click.option(
    "--header", multiple=True, help="'Name: value', sent with every request to it; may be repeated."
)
@click.option("--timeout", type=float, default=300.0, help="Seconds that it may be silent.")
@click.option("--stop-url", help="What its stops are posted to; {threadId} for the thread.")
@click.option(
    "--expires-in", type=float, help="Seconds until what it asks expires, unless it says."
)
@click.option("--cors-origin", multiple=True, help="Origin whose pages may call; may be repeated.")
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
    """Serve an agent that speaks AG-UI already, made safe.

    URL is where the agent's runs are posted.

    Clients talk to the bridge instead of URL. An answer reaches the agent once,
    however often and to however many processes it is sent; what is asked survives
    restarts, in a store that lasts.

    Examples:
      agui-bridge proxy http://127.0.0.1:8000/ --store sqlite:///proxy.db
      agui-bridge proxy http://127.0.0.1:8000/ --dialect 0.x --port 9000
      agui-bridge proxy http://127.0.0.1:8000/agui --peer agno --tool-schemas t.json

    Authentication, several agents and secrets need a configuration file: see
    docs/proxy.md.
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
