"""How far a long command is: a line that changes in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final

from agui_bridge.terminal import Terminal

__all__ = ["Progress"]

_SECONDS: Final = 10.0
"""Between two lines where nobody looks: a log shows that the command lives, and stays short."""
_BEGIN_AND_CLEAR: Final = "\r\x1b[2K"


class Progress:
    """Tells on standard error, so that results alone stand in the output.

    The line in a terminal is gone when the block ends.
    """

    def __init__(
        self, terminal: Terminal | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin to count the time.

        Args:
            terminal: standard error by default.
            clock: gives seconds.
        """
        self._terminal = terminal or Terminal(sys.stderr)
        self._clock = clock
        self._told = clock()
        self._shown = False

    def tell(self, text: str) -> None:
        """Say how far it is; may be called as often as something has changed.

        Args:
            text: one line.
        """
        if self._terminal.is_terminal:
            self._terminal.say(f"{_BEGIN_AND_CLEAR}{text[: self._terminal.width - 1]}", end="")
            self._shown = True
        elif self._clock() >= self._told + _SECONDS:
            self._told = self._clock()
            self._terminal.say(text)

    def say(self, text: str) -> None:
        """Write a line that stays.

        Args:
            text: one line, painted or not.
        """
        self.clear()
        self._terminal.say(text)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.clear()

    def clear(self) -> None:
        """Take the line away, before something else is written."""
        if self._shown:
            self._terminal.say(_BEGIN_AND_CLEAR, end="")
            self._shown = False
