"""What commands show: colours and tables where somebody looks, a line for each row in a pipe."""

from __future__ import annotations

import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import wrap
from types import TracebackType
from typing import Final, TextIO

import click

_UNLIMITED: Final = 10_000
_NARROWEST: Final = 20
_ISOLATE: Final = "\u2068"
_ISOLATE_END: Final = "\u2069"
"""Around a text whose direction would turn what stands beside it; a line's end ends it, too."""


def paint(text: str, *colour: str) -> str:
    """Text in a colour, and `bold`, `dim` or `italic`; shown plainly where there are no colours."""
    if not text:
        return ""
    manners = {manner: True for manner in ("bold", "dim", "italic") if manner in colour}
    fg = next((name for name in colour if name not in manners), None)
    return click.style(text, fg=fg, **manners)


class Terminal:
    """A stream for people: a terminal, a pipe, or a file.

    Attributes:
        is_terminal: whether somebody looks.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        is_terminal: bool | None = None,
        width: int | None = None,
        height: int | None = None,
    ) -> None:
        """Look at a stream.

        Args:
            stream: standard output by default.
            is_terminal: None asks the stream.
            width: None asks the terminal.
            height: None asks the terminal.
        """
        self._stream = stream or sys.stdout
        self.is_terminal = self._stream.isatty() if is_terminal is None else is_terminal
        self._width = width
        self._height = height
        # See no-color.org. A dumb terminal shows colours as the characters that ask for them.
        is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        self._has_colours = self.is_terminal and not is_plain

    @property
    def width(self) -> int:
        """Of a line, in columns; unlimited in a pipe, where rows are searched and copied."""
        if self._width:
            return self._width
        # Asked for each time: people resize their windows.
        return shutil.get_terminal_size().columns if self.is_terminal else _UNLIMITED

    @property
    def height(self) -> int:
        """Lines that can be seen at once; unlimited in a pipe."""
        if self._height:
            return self._height
        return shutil.get_terminal_size().lines if self.is_terminal else _UNLIMITED

    def say(self, text: str = "", *, end: str = "\n") -> None:
        """Write a text, painted or not."""
        click.echo(text + end, file=self._stream, nl=False, color=self._has_colours)

    def table(self, rows: Iterable[Sequence[str]], *, head: Sequence[str] = ()) -> None:
        """Write rows of cells; the last cell of a row is wrapped where the line ends."""
        for line in self.table_lines(rows, head=head):
            self.say(line)

    def table_lines(
        self, rows: Iterable[Sequence[str]], *, head: Sequence[str] = (), beside: int = 0
    ) -> list[str]:
        """The lines of a table, none if it has no cells.

        Args:
            rows: as many cells each as there are columns.
            head: the names of the columns, if they have any.
            beside: how much of the width something else takes.
        """
        cells = [[paint(cell, "dim") for cell in head], *rows] if head else list(rows)
        if not cells:
            return []
        widths = [max(_length(row[at]) for row in cells) for at in range(len(cells[0]) - 1)]
        indent = sum(widths) + 2 * len(widths)
        room = max(self.width - beside - indent, _NARROWEST)
        lines = []
        for *first, last in cells:
            begin = "".join(
                cell + " " * (width - _length(cell) + 2)
                for cell, width in zip(first, widths, strict=True)
            )
            told = [last] if _length(last) <= room else wrap(click.unstyle(last), room)
            told = list(_isolated(told))
            lines.append((begin + told[0]).rstrip())
            lines += [" " * indent + line for line in told[1:]]
        return lines

    def frame(
        self,
        title: str,
        lines: Iterable[str],
        *colour: str,
        begins: bool = True,
        ends: bool = True,
    ) -> None:
        """Write lines below a title, with a line along their left side.

        Args:
            title: what stands above them.
            lines: of `framed_lines`, where some may be too long.
            *colour: of the line along their side.
            begins: whether they are the first ones.
            ends: whether they are the last ones.
        """
        if begins:
            self.say(f"{paint('╭─', *colour)} {title}")
        for line in lines:
            self.say(f"{paint('│', *colour)} {line}" if line else paint("│", *colour))
        if ends:
            self.say(paint("╰─", *colour))

    def framed_lines(self, lines: Iterable[str], *, goes_on: str = "") -> list[str]:
        """Lines as a frame has room for them: the rest of a long one stands below it.

        A terminal would begin the rest at its left side, where other lines than the frame's stand.

        Args:
            lines: any.
            goes_on: what the rest of a line begins with, where it could be taken for a line.
        """
        room = max(self.width - len("│ "), _NARROWEST)
        return [
            f"{goes_on if at else ''}{part}"
            for line in lines
            for at, part in enumerate(_isolated(_folded(line, room, len(goes_on))))
        ]


def _folded(line: str, room: int, less: int) -> Iterator[str]:
    if _length(line) <= room:
        yield line
        return
    room -= less
    begin = taken = 0
    plain = click.unstyle(line).expandtabs()
    for at, character in enumerate(plain):
        columns = _columns(character)
        if taken + columns > room:
            yield plain[begin:at]
            begin, taken = at, 0
        taken += columns
    yield plain[begin:]


def _isolated(parts: Iterable[str]) -> Iterator[str]:
    """The parts of one line as lines, of which each ends the isolate that goes on in the next."""
    begins = ""
    for part in parts:
        text = begins + part
        begins = _ISOLATE if text.rfind(_ISOLATE) > text.rfind(_ISOLATE_END) else ""
        yield text + _ISOLATE_END if begins else text


def _length(text: str) -> int:
    """How many columns a text takes: ideographs and most emoji take two, accents none."""
    plain = click.unstyle(text)
    return len(plain) if plain.isascii() else sum(map(_columns, plain))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


# --- how far a long command is ---
#
# A line that changes in a terminal, a line now and then elsewhere.

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
