"""The options that several commands have."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import click

from agui_bridge.errors import ConfigurationError
from agui_bridge.text.visible import visible_line
from agui_bridge.yaml_files.document import KeyPath

# --- what a list of one scope says where that scope has nothing: which scopes have something ---

_MOST = 10
"""Scopes that are named."""


def nothing_in(scope: str, what: str, others: Sequence[str]) -> str:
    """Say that there is nothing, and where else there is something.

    Args:
        scope: the one that was asked for.
        what: what it has none of, as in "There are no …".
        others: the scopes that have some, of any state.
    """
    told = f"There are no {what} in the scope {visible_line(scope)}."
    found = [visible_line(other) for other in others if other != scope]
    if not found:
        return told
    more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return f"{told} Others have some: --scope {', '.join(found[:_MOST])}{more}."


# --- addresses and headers as people give them ---


def read_address(text: str) -> str:
    """An address of a server, or below it, without a slash at its end.

    Args:
        text: as it was given.

    Raises:
        ConfigurationError: it is none.
    """
    if not text.startswith(("http://", "https://")):
        raise ConfigurationError(f"{text!r} is no address.\nBegin it with http:// or https://.")
    try:
        parts = urlsplit(text)
        # The port is read where it is asked for.
        is_address = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_address = False
    if not is_address or not text.isprintable() or " " in text:
        raise ConfigurationError(
            f"{text!r} is no address.\nWrite it like http://127.0.0.1:8787 or https://example.com."
        )
    return text.rstrip("/")


_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def read_header(line: str) -> tuple[str, str]:
    """The name and the value of a header.

    Args:
        line: `Name: value`.

    Raises:
        ConfigurationError: it is none.
    """
    name, colon, value = line.partition(":")
    if not colon or not name.strip():
        raise ConfigurationError(f'--header {line!r} is no header.\nWrite it as "Name: value".')
    name, value = name.strip(), value.strip()
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"--header {line!r}: a name has ASCII letters, digits and hyphens, and no blanks."
        )
    if not (value.isascii() and value.isprintable()):
        raise ConfigurationError(
            f"--header {line!r}: a value is one line of ASCII characters. Encode others, for "
            "instance as %C3%A9."
        )
    return name, value


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


F = TypeVar("F", bound=Callable[..., Any])

_AGE: Final = re.compile(r"([0-9]{1,9})(m|h|d|w)")
_SECONDS: Final = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def age_option(help: str) -> Callable[[F], F]:
    """The option `--older-than`, in seconds.

    Args:
        help: what it means.
    """
    return click.option(
        "--older-than",
        required=True,
        callback=lambda _, __, text: seconds_of(text),
        metavar="AGE",
        help=help,
    )


def seconds_of(text: str) -> float:
    """An age in seconds.

    Args:
        text: a number and a unit.

    Raises:
        BadParameter: it is something else.
    """
    found = _AGE.fullmatch(text.strip())
    if found is None:
        raise click.BadParameter("write a number and a unit: 90m, 12h, 30d or 8w.")
    return float(int(found[1]) * _SECONDS[found[2]])
