"""Where a command's table goes: as wide as the terminal, or, in a pipe, as wide as it is."""

from __future__ import annotations

from typing import Final

from rich.console import Console

__all__ = ["output"]

_UNLIMITED: Final = 10_000


def output() -> Console:
    """Standard output. In a pipe or a log a row is a line: it is searched and copied there."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _UNLIMITED
    return console
