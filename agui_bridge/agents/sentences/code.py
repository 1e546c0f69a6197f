"""Tells the code in a message of Markdown from its prose.

- A fence is a line that begins with three or more backticks or tildes, after indentation, quote
  marks and list markers. Its code goes on to a line of at least as many of them alone, indented
  at most three columns deeper, or to the end of the message.
- A code span begins with a run of backticks and ends with the next run of the same length on its
  line, within `LONGEST_SPAN` characters. A run without such an end is plain text, as CommonMark
  has it.

Unlike there, a span ends within its line, a fence in a list only with its own last line, and a
backslash escapes nothing. Indented text is no code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agui_bridge.agents.sentences.phrase_table import CODE

LINE_ENDS = "\n\r\u2028\u2029"

LONGEST_SPAN = 4096
"""Characters, from its first backtick on, within which a code span must end to be one."""

_SPACES = str.maketrans(dict.fromkeys(LINE_ENDS, " "))
_LINE = re.compile(rf"[^{LINE_ENDS}]*[{LINE_ENDS}]|[^{LINE_ENDS}]+")
_FENCE = re.compile(
    r"(?P<head>(?:[ \t>]|[-*+][ \t]|[0-9]{1,9}[.)][ \t])*)"
    rf"(?:(?P<ticks>`{{3,}})[^`{LINE_ENDS}]*[{LINE_ENDS}]?\Z|(?P<tildes>~{{3,}}))"
)
_LONGEST_HEAD = 64
_CLOSING = re.compile(rf"(?P<head>[ \t>]*)(?P<run>`+|~+)[ \t]*[{LINE_ENDS}]\Z")
_RUN = re.compile("`+")
_Run = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block that is open.

    Attributes:
        mark: what the fence is made of.
        length: how many of them.
        column: where it stands.
    """

    mark: str
    length: int
    column: int

    def ends_with(self, line: str) -> bool:
        """Whether a line, its end included, closes the block."""
        found = _CLOSING.fullmatch(line)
        return (
            found is not None
            and found["run"][0] == self.mark
            and len(found["run"]) >= self.length
            and len(found["head"]) <= self.column + 3
        )


@dataclass(frozen=True, slots=True)
class Prose:
    """A stretch of text between fences.

    Attributes:
        start: its offset.
        text: as it was said.
        plain: the same, with `CODE` for each character of a code span.
        undecided: offset in it of the first run of backticks that may still open a code span.
    """

    start: int
    text: str
    plain: str
    undecided: int | None


@dataclass(frozen=True, slots=True)
class Rest:
    """What the end of a text leaves to decide.

    Attributes:
        start: offset from which on lines may still open or close a fence; the text's length where
            none can.
        fence: the block that is open there.
    """

    start: int
    fence: Fence | None


def one_line(sentence: str) -> str:
    """A sentence without line ends: a phrase may have gone on beyond one."""
    return sentence.translate(_SPACES)


def prose(text: str, line: str, fence: Fence | None) -> tuple[list[Prose], Rest]:
    """Cut a text at its fences.

    Args:
        text: what was said.
        line: what stands before it on its line.
        fence: the block that is open before it.
    """
    stretches: list[Prose] = []
    begin, rest = 0, Rest(len(text), None)
    for found in _LINE.finditer(text):
        start, end = found.span()
        if fence is not None:
            rest = Rest(start, fence)
            if fence.ends_with(found[0]):
                fence, begin, rest = None, end, Rest(len(text), None)
            continue
        opened = _FENCE.match((line if start == 0 else "") + found[0])
        if opened is not None and len(opened["head"]) <= _LONGEST_HEAD:
            run = opened["ticks"] or opened["tildes"]
            stretches.append(_stretch(text, begin, start))
            fence = Fence(run[0], len(run), len(opened["head"]))
            begin, rest = end, Rest(end, fence) if found[0][-1] in LINE_ENDS else Rest(start, None)
    if fence is None:
        stretches.append(_stretch(text, begin, len(text)))
    return stretches, rest


def _stretch(text: str, start: int, end: int) -> Prose:
    said, undecided = text[start:end], None
    pieces: list[str] = []
    for line in _LINE.finditer(said):
        plain, undecided = _without_spans(line[0])
        pieces.append(plain)
        if undecided is not None:
            undecided += line.start()
    if said and said[-1] in LINE_ENDS:
        undecided = None
    return Prose(start, said, "".join(pieces), undecided)


def _without_spans(line: str) -> tuple[str, int | None]:
    """A line with `CODE` for its code spans, and where a span may have begun that goes on."""
    pieces: list[str] = []
    done, undecided = 0, None
    for opener, closer in _pairs([run.span() for run in _RUN.finditer(line)]):
        if opener[0] < done:
            continue
        if closer is not None:
            pieces += line[done : opener[0]], CODE * (closer[1] - opener[0])
            done = closer[1]
        if (closer is None or done == len(line)) and len(line) - opener[0] <= LONGEST_SPAN:
            undecided = opener[0] if undecided is None else undecided
    return "".join([*pieces, line[done:]]), undecided


def _pairs(runs: list[_Run]) -> Iterator[tuple[_Run, _Run | None]]:
    """Each run of backticks with the next one of its length, if that is near enough."""
    nearest: dict[int, _Run] = {}
    pairs: list[tuple[_Run, _Run | None]] = []
    for run in reversed(runs):
        closer = nearest.get(run[1] - run[0])
        near = closer is not None and closer[1] - run[0] <= LONGEST_SPAN
        pairs.append((run, closer if near else None))
        nearest[run[1] - run[0]] = run
    return reversed(pairs)
