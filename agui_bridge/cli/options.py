"""The options that several commands have."""

from __future__ import annotations

from typing import Any

import click

from agui_bridge.yaml_files.document import KeyPath

__all__ = [
    "log_options",
    "server_flags",
    "server_options",
    "shared_flags",
    "store_option",
    "targets_argument",
]


def _named(_: click.Context, __: click.Parameter, target: tuple[str, ...]) -> tuple[str, ...]:
    if not target:
        raise click.UsageError(
            "Name a bridge: a file such as bridge.yaml, or module:variable such as agents:bridge."
        )
    return target


targets_argument = click.argument("target", nargs=-1, metavar="TARGET...", callback=_named)

store_option = click.option(
    "--store",
    metavar="URL",
    help="Store to use instead of the one of TARGET, such as sqlite:///agents.db.",
)


def server_options(command: Any) -> Any:
    """Where to listen, and to whom: `host`, `port` and `anonymous`."""
    for option in (
        click.option(
            "--anonymous",
            is_flag=True,
            help="Serve other machines, though nothing says who asks.",
        ),
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            metavar="NUMBER",
            help="Port; 0 takes a free one.  [default: 8787]",
        ),
        click.option("--host", metavar="NAME", help="Address to bind to.  [default: 127.0.0.1]"),
    ):
        command = option(command)
    return command


def log_options(command: Any) -> Any:
    """What to log, and how: `log_format` and `log_level`."""
    for option in (
        click.option(
            "--log-level",
            type=click.Choice(["debug", "info", "warning", "error"]),
            help="Lowest level that is logged.  [default: info]",
        ),
        click.option(
            "--log-format",
            type=click.Choice(["text", "json"]),
            help="Log as readable text or JSON lines.  [default: text]",
        ),
    ):
        command = option(command)
    return command


def shared_flags(
    store: str | None, log_format: str | None, log_level: str | None
) -> dict[KeyPath, Any]:
    """What the options say, at the places of the configuration file."""
    return {
        ("store",): store,
        ("logging", "format"): log_format,
        ("logging", "level"): log_level,
    }


def server_flags(host: str | None, port: int | None, anonymous: bool) -> dict[KeyPath, Any]:
    """The same of the options that say where to listen."""
    return {
        ("server", "host"): host,
        ("server", "port"): port,
        ("server", "anonymous"): anonymous or None,
    }
