"""The options that several commands have."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from agui_bridge.yaml_files.document import KeyPath

__all__ = [
    "AnonymousOption",
    "HostOption",
    "LogFormatOption",
    "LogLevelOption",
    "PortOption",
    "StoreOption",
    "StoreToOpen",
    "TargetsArgument",
    "server_flags",
    "shared_flags",
]


class Format(StrEnum):
    """How to log."""

    text = "text"
    json = "json"


class Level(StrEnum):
    """What to log."""

    debug = "debug"
    info = "info"
    warning = "warning"
    error = "error"


TargetsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="TARGET",
        help="[bold]module:variable[/] of a Bridge, or a YAML file; or several "
        "agent files and folders of them.",
        show_default=False,
    ),
]
StoreToOpen = Annotated[
    str,
    typer.Option(
        envvar="AGUI_BRIDGE_STORE",
        help="Store URL, such as sqlite:///agents.db.",
        show_default=False,
    ),
]
HostOption = Annotated[
    str | None, typer.Option(help="Address to bind to. [dim]default: 127.0.0.1[/]")
]
PortOption = Annotated[
    int | None,
    typer.Option(min=0, max=65535, help="Port; 0 takes a free one. [dim]default: 8787[/]"),
]
AnonymousOption = Annotated[
    bool | None,
    typer.Option(
        "--anonymous",
        help="Serve others than this machine, though nothing says who they are.",
        show_default=False,
    ),
]
StoreOption = Annotated[
    str | None, typer.Option(help="Store to use instead, such as sqlite:///agents.db.")
]
LogFormatOption = Annotated[
    Format | None,
    typer.Option(help="Log as readable text or JSON lines. [dim]default: text[/]"),
]
LogLevelOption = Annotated[
    Level | None, typer.Option(help="Lowest level that is logged. [dim]default: info[/]")
]


def shared_flags(
    store: str | None, log_format: Format | None, log_level: Level | None
) -> dict[KeyPath, Any]:
    """What the options say, at the places of the configuration file."""
    return {
        ("store",): store,
        ("logging", "format"): log_format and log_format.value,
        ("logging", "level"): log_level and log_level.value,
    }


def server_flags(host: str | None, port: int | None, anonymous: bool | None) -> dict[KeyPath, Any]:
    """The same of the options that say where to listen."""
    return {
        ("server", "host"): host,
        ("server", "port"): port,
        ("server", "anonymous"): anonymous,
    }
