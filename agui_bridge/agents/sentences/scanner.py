"""Finds requests in a message of Markdown that streams in: sentences with a phrase in them.

Two questions are told apart. *May anything be carried out now?* Not once a phrase was said, unless
it is excused (`excuses`): quoted, in code, or denied. *Is a card shown?* Not when the phrase seems
only mentioned (`mentions`). That may be wrong: so it is asked when something would be carried out.

The result is that of the whole text, however it was split. Nothing is looked for in code:

- A fence is a line that begins with three or more backticks or tildes, after indentation, quote
  marks and list markers. Its code goes on to a line of at least as many of them alone, indented
  at most three columns deeper, or to the end of the message.
- A code span begins with a run of backticks and ends with the next run of the same length on its
  line. Whether a run opens a span shows only at that end, so what follows it waits undecided. If
  the line, or the message, ends first (or `LONGEST_SPAN` characters have passed, so that little
  ever waits), the run is plain text, and what follows it is looked at again, as CommonMark has it.

Unlike there, a span ends within its line, a fence in a list only with its own last line, and a
backslash escapes nothing. Indented text is no code.

Every character is looked at a bounded number of times.
"""

from __future__ import annotations

import re

from agui_bridge.agents.sentences.line_ends import LINE_ENDS
from agui_bridge.agents.sentences.phrase_matcher import PhraseTable
from agui_bridge.agents.sentences.sentences import CODE, FoundRequest, Sentences

__all__ = ["LONGEST_SPAN", "FoundRequest", "SentenceScanner"]

LONGEST_SPAN = 4096
"""Characters, from its first backtick on, within which a code span must end to be one."""

_LONGEST_HEAD = 64
_HEAD = re.compile(r"(?:[ \t>]|[-*+][ \t]|[0-9]{1,9}[.)][ \t])*")
_RUNS = re.compile(r"(`+)")


class SentenceScanner:
    """Scans one message.

    Attributes:
        offset: characters fed so far.
    """

    def __init__(self, table: PhraseTable) -> None:
        """Begin with nothing fed."""
        self.offset: int = 0
        self._sentences = Sentences(table)
        # What the current line begins with, as long as it may be what stands before a fence.
        self._head: str | None = ""
        # Since a run of backticks that may open a span or a fence:
        self._pending: list[str] = []
        self._opener = self._run = 0
        self._fence_in_sight = False
        self._fence: _Fence | None = None

    @property
    def found(self) -> tuple[FoundRequest, ...]:
        """The sentences that have ended and that hold what comes after them, in their order."""
        return tuple(self._sentences.found)

    @property
    def requests(self) -> tuple[FoundRequest, ...]:
        """Those of them that a card is shown for."""
        return tuple(found for found in self._sentences.found if found.card)

    @property
    def holding(self) -> bool:
        """Whether nothing may be carried out now: something would be found if the message ended.

        True already before the sentence ends, as soon as its phrase is complete. Costs at most
        `LONGEST_SPAN` steps, and changes nothing.
        """
        if self._sentences.found or not self._pending or self._is_fence():
            return self._sentences.holding
        probe = self._sentences.probe()
        self._decide("".join(self._pending), probe, self.offset - len(self._pending))
        return probe.holding

    @property
    def sentence_start(self) -> int:
        """Offset from which on text may still become a request.

        That is where the current sentence starts; while a code span is undecided, the sentence
        in which it began. What stands before it is decided: whoever withholds requests can let
        it pass.
        """
        if self._sentences.start is not None:
            return self._sentences.start
        return self.offset - len(self._pending)

    def feed(self, delta: str) -> None:
        """Take the next piece of the message."""
        for char in delta:
            self._take(char)
            self.offset += 1

    def end(self) -> None:
        """The message ends here; what is fed next is another one."""
        self._conclude()
        self._sentences.end()
        self._head, self._fence = "", None

    def _take(self, char: str) -> None:
        if self._fence is not None:
            if self._fence.ends_with(char):
                self._fence, self._head = None, ""
        elif self._pending:
            self._take_pending(char)
        elif char == "`":
            self._pending.append(char)
            self._opener, self._run = 0, 1
            self._fence_in_sight = self._head is not None and bool(_HEAD.fullmatch(self._head))
        elif char in LINE_ENDS:
            self._sentences.end_line(char, self.offset)
            self._head = ""
        else:
            self._sentences.feed(char, self.offset)
            self._take_head(char)

    def _take_head(self, char: str) -> None:
        if self._head is None:
            return
        self._head += char
        if char == "~":
            before = self._head.rstrip("~")
            if len(self._head) - len(before) == 3 and _HEAD.fullmatch(before):
                self._open_fence("~", 3, len(before))
        elif len(self._head) > _LONGEST_HEAD:
            self._head = None

    def _take_pending(self, char: str) -> None:
        if char == "`":
            if not self._run:
                self._fence_in_sight = False
            self._run += 1
        elif self._run:
            if self._opener and self._run == self._opener:
                self._conclude()
                self._take(char)
                return
            self._opener = self._opener or self._run
            self._run = 0
        if char in LINE_ENDS:
            self._conclude()
            self._take(char)
            return
        self._pending.append(char)
        if len(self._pending) >= LONGEST_SPAN:
            self._conclude(self.offset + 1)

    def _is_fence(self) -> bool:
        return self._fence_in_sight and (self._opener or self._run) >= 3

    def _conclude(self, offset: int | None = None) -> None:
        """Decide what is pending, as though the line ended here."""
        if not self._pending:
            return
        text, column = "".join(self._pending), len(self._head or "")
        self._pending.clear()
        if self._is_fence():
            self._open_fence("`", self._opener or self._run, column)
        else:
            start = (self.offset if offset is None else offset) - len(text)
            self._decide(text, self._sentences, start)
            self._head = None

    def _open_fence(self, char: str, length: int, column: int) -> None:
        self._sentences.end()
        self._fence = _Fence(char, length, column)

    @staticmethod
    def _decide(text: str, sentences: Sentences, at: int) -> None:
        """Give the sentences a text in which every code span is complete."""
        pieces = _RUNS.split(text)  # Runs of backticks at the odd places.
        closers: dict[int, int] = {}
        closed_by: dict[int, int] = {}
        for place in range(len(pieces) - 2, 0, -2):
            length = len(pieces[place])
            if length in closers:
                closed_by[place] = closers[length]
            closers[length] = place
        place = 0
        while place < len(pieces):
            if place in closed_by:
                code = "".join(pieces[place : closed_by[place] + 1])
                sentences.feed(CODE, at, code)
                at += len(code)
                place = closed_by[place] + 1
                continue
            for char in pieces[place]:
                sentences.feed(char, at)
                at += 1
            place += 1


class _Fence:
    """A fenced block while it is open: looks for the line that closes it.

    Args:
        char: what the fence is made of.
        length: of the opening fence, so far.
        column: where it stands.
    """

    def __init__(self, char: str, length: int, column: int) -> None:
        self._char, self._length, self._column = char, length, column
        # A run of tildes opens it before it is over; then the info text follows.
        self._opening = char == "~"
        self._part = "info"
        self._indent = self._run = 0

    def ends_with(self, char: str) -> bool:
        """Take a character; whether the block ends with it."""
        if char in LINE_ENDS:
            closed = self._part in ("run", "rest") and self._run >= self._length
            self._opening, self._part, self._indent, self._run = False, "indent", 0, 0
            return closed
        if self._opening:
            self._opening = char == self._char
            self._length += self._opening
        elif self._part == "indent" and char in " \t>":
            self._indent += 1
        elif self._part in ("indent", "run") and char == self._char:
            self._run += 1
            self._part = "run" if self._indent <= self._column + 3 else "code"
        elif self._part in ("run", "rest") and char in " \t":
            self._part = "rest"
        elif self._part != "info":
            self._part = "code"
        return False
