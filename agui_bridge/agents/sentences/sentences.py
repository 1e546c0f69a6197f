"""Cuts prose into sentences, one character at a time, and keeps those that ask with a phrase.

A sentence ends
- at a line's end, and at the end of the message;
- after `。！？｡` wherever they stand;
- after `!` and `?` before whitespace, or a character of a script without spaces;
- after `.` and `…` (and runs of them) before whitespace, unless a lower-case letter follows, or
  the word is an initial or a common abbreviation (`e.g.`). So the dots of `v2.0`, `1,234.5` and
  `access.log` end nothing, `1,234.` at the end of a sentence does.

Further marks, quotes and brackets right after the mark belong to the sentence that ends, and so
does what an opening bracket after a question mark begins: "Are you sure? [y/n]". A quotation that
ends with a mark goes on to who said it: “Are you sure?” she asked.
"""

from __future__ import annotations

from dataclasses import dataclass

from agui_bridge.agents.sentences.mentions import is_mention
from agui_bridge.agents.sentences.phrase_matcher import UNSPACED, PhraseMatcher, PhraseTable

__all__ = ["CODE", "FoundRequest", "Sentences"]

CODE = "\ufffc"
"""Stands for a piece of code, in which nothing is looked for."""

_SOFT, _HARD, _WIDE = ".…", "!?", "。！？｡"
_MARKS = _SOFT + _HARD + _WIDE
_OPENERS = "([（【"
_QUOTES = "\"'”’»」』》〉"
_CLOSERS = _QUOTES + ")]}）】*_"
_ABBREVIATIONS = frozenset(
    ("e.g", "i.e", "eg", "ie", "vs", "cf", "mr", "mrs", "ms", "dr", "prof", "approx", "fig")
)
_LONGEST_WORD = 12
_LONGEST_LINE = 160


@dataclass(frozen=True, slots=True)
class FoundRequest:
    """A sentence that asks with a phrase.

    Attributes:
        sentence: as it was said, code and all, without the whitespace around it.
        start: offset of its first character in the message.
        phrase: the phrase, as it was given.
        phrase_start: where in the sentence the phrase, as it was said, begins.
        phrase_end: where it ends.
    """

    sentence: str
    start: int
    phrase: str
    phrase_start: int
    phrase_end: int


class Sentences:
    """The sentences of one message.

    Attributes:
        requests: the finished sentences that ask with a phrase.
        start: offset of the first character of the current sentence; None before it.
    """

    def __init__(self, table: PhraseTable) -> None:
        """Begin with nothing fed."""
        self.requests: list[FoundRequest] = []
        self.start: int | None = None
        self._matcher = PhraseMatcher(table)
        self._pieces: list[str] = []
        self._length = 0
        # The end of what stands on the line before the current sentence.
        self._line = ""
        # Letters and dots since the last whitespace, as far as an abbreviation may go.
        self._word = ""
        # The strength of the marks just seen; whether they are one dot, or one of them asks;
        # and whether whitespace, or a quotation's end, followed.
        self._mark = 0
        self._single = self._question = self._spaced = self._closed = False

    def probe(self) -> Sentences:
        """A copy of the current sentence to try on it what may come next."""
        twin = Sentences(self._matcher.table)
        twin._matcher = self._matcher.copy()
        twin.start, twin._word = self.start, self._word
        twin._pieces, twin._length, twin._line = self._pieces.copy(), self._length, self._line
        twin._mark, twin._single = self._mark, self._single
        twin._question, twin._spaced, twin._closed = self._question, self._spaced, self._closed
        return twin

    @property
    def asking(self) -> bool:
        """Whether there is a request so far, its sentence finished or not."""
        if self.requests or not self._matcher.found:
            return bool(self.requests)
        twin = self.probe()
        twin.end()
        return bool(twin.requests)

    def feed(self, char: str, at: int, text: str | None = None) -> None:
        """Take a character that stands at an offset; `text` is what it stands for, if not itself.

        Line ends are none: they go to `end`.
        """
        if self._mark and self._ends_before(char):
            self._finish()
        self._matcher.feed(char, self._length)
        if char.isspace():
            self._word = ""
            if self.start is not None:
                self._append(char)
            return
        if self.start is None:
            self.start = at
        self._append(char if text is None else text)
        if char in _MARKS:
            self._single = char == "." and not self._mark
            self._question = self._question or char in "?？"
            self._mark = max(self._mark, _strength(char))
        elif not self._mark and len(self._word) <= _LONGEST_WORD:
            self._word += char
        if char == "." and len(self._word) <= _LONGEST_WORD:
            self._word += char

    def end(self) -> None:
        """The line is over, and so is its last sentence."""
        self._finish()
        self._line = ""

    def _finish(self) -> None:
        self._matcher.end()
        if self._matcher.matches and self.start is not None:
            sentence = "".join(self._pieces).rstrip()
            for match in self._matcher.matches:
                if not is_mention(sentence, match.start, match.end, self._line):
                    self.requests.append(
                        FoundRequest(sentence, self.start, match.phrase, match.start, match.end)
                    )
                    break
        if self._pieces:
            self._line = (self._line + "".join(self._pieces))[-_LONGEST_LINE:]
        self._clear()

    def _append(self, piece: str) -> None:
        self._pieces.append(piece)
        self._length += len(piece)

    def _clear(self) -> None:
        self._matcher.reset()
        self.start, self._pieces, self._length, self._word = None, [], 0, ""
        self._forget_mark()

    def _ends_before(self, char: str) -> bool:
        """Whether what was said since the mark and this character make the mark an end."""
        if char.isspace():
            if self._single and _is_abbreviation(self._word):
                self._forget_mark()
            self._spaced = self._mark > 0
            return False
        if not self._spaced and (char in _MARKS or char in _CLOSERS):
            self._closed = self._closed or char in _QUOTES
            return False
        if (self._question and char in _OPENERS) or (self._closed and self._goes_on_with(char)):
            ends = False
        elif self._mark == _strength("."):
            ends = self._spaced and not char.islower()
        elif self._mark == _strength("!"):
            ends = self._spaced or char >= UNSPACED
        else:
            ends = True
        self._forget_mark()
        return ends

    def _goes_on_with(self, char: str) -> bool:
        """Whether a character after a quotation goes on with who said it."""
        return char.islower() or (char >= UNSPACED and not self._spaced)

    def _forget_mark(self) -> None:
        self._mark = 0
        self._single = self._question = self._spaced = self._closed = False


def _strength(mark: str) -> int:
    return 1 if mark in _SOFT else 2 if mark in _HARD else 3


def _is_abbreviation(word: str) -> bool:
    word = word.removesuffix(".").lstrip("([{\"'“‘*_")
    letters = word.split(".") if word.isascii() else ()
    initials = bool(letters) and all(len(part) == 1 and part.isalpha() for part in letters)
    return initials or word.lower() in _ABBREVIATIONS
