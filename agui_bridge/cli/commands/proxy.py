"""`agui-bridge proxy`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from agui_bridge.adapters import load_adapter
from agui_bridge.bridge.bridge import Bridge
from agui_bridge.cli.commands.serve import listen
from agui_bridge.cli.faults import Debug
from agui_bridge.cli.options import (
    AnonymousOption,
    HostOption,
    LogFormatOption,
    LogLevelOption,
    PortOption,
    StoreOption,
    server_flags,
    shared_flags,
)
from agui_bridge.config import load_launch
from agui_bridge.engine.input.settings import Settings
from agui_bridge.errors import ConfigurationError

__all__ = ["proxy"]


class Dialect(StrEnum):
    """What the upstream speaks."""

    current = "1.0"
    older = "0.x"


class History(StrEnum):
    """What the upstream is sent of the conversation."""

    full = "full"
    new = "new"


def proxy(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL", help="Where the agent's runs are posted.", show_default=False
        ),
    ],
    name: Annotated[str, typer.Option(help="The agent's name here.")] = "agent",
    dialect: Annotated[
        Dialect, typer.Option(help="0.x for a server from before AG-UI 1.0.")
    ] = Dialect.current,
    history: Annotated[
        History, typer.Option(help="new for a server that keeps the conversation itself.")
    ] = History.full,
    header: Annotated[
        list[str] | None,
        typer.Option(help="'Name: value', sent with every request to it; may be repeated."),
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds that it may be silent.")] = 300.0,
    stop_url: Annotated[
        str | None, typer.Option(help="What its stops are posted to; {threadId} for the thread.")
    ] = None,
    expires_in: Annotated[
        float | None, typer.Option(help="Seconds until what it asks expires, unless it says.")
    ] = None,
    cors_origin: Annotated[
        list[str] | None, typer.Option(help="Origin whose pages may call; may be repeated.")
    ] = None,
    host: HostOption = None,
    port: PortOption = None,
    anonymous: AnonymousOption = None,
    store: StoreOption = None,
    log_format: LogFormatOption = None,
    log_level: LogLevelOption = None,
    debug: Debug = False,
) -> None:
    """Serve an agent that speaks AG-UI already, made safe.

    Clients talk to the bridge instead of URL. An answer reaches the agent once,
    however often and to however many processes it is sent; what is asked survives
    restarts, in a store that lasts.

    [bold]Examples[/]

      agui-bridge proxy http://127.0.0.1:8000/ --store sqlite:///proxy.db
      agui-bridge proxy http://127.0.0.1:8000/ --dialect 0.x --port 9000

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
            cors_origins=cors_origin or (),
        )
        adapter = load_adapter("agui")(
            url,
            dialect=dialect.value,
            history=history.value,
            headers=_headers(header or []),
            timeout=timeout,
            stop_url=stop_url,
        )
        bridge.add(name, adapter)
        return bridge

    listen(launch, make)


def _headers(lines: list[str]) -> dict[str, str]:
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise ConfigurationError("--header should be 'Name: value'.")
        headers[name.strip()] = value.strip()
    return headers
