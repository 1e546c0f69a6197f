"""Ages as people write them: 90m, 12h, 30d or 8w."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

__all__ = ["age_option", "seconds_of"]

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
