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

A phrase that begins in one sentence and ends in a later one makes one of them. So an end at which a
phrase may have begun is kept in mind, as a cut, until it shows whether the phrase goes on.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from itertools import takewhile

from agui_bridge.agents.sentences.excuses import is_excused
from agui_bridge.agents.sentences.mentions import is_mention
from agui_bridge.agents.sentences.phrase_in_sentence import PhraseInSentence
from agui_bridge.agents.sentences.phrase_matcher import PhraseMatcher, PhraseTable
from agui_bridge.agents.sentences.spelling import UNSPACED
from agui_bridge.agents.wording.setting import Setting

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
    """A sentence with a phrase before whose answer nothing may be carried out.

    Attributes:
        sentence: as it was said, code and all, without the whitespace around it.
        start: offset of its first character in the message.
        phrase: the phrase, as it was given.
        phrase_start: where in the sentence the phrase, as it was said, begins.
        phrase_end: where it ends.
        card: whether it asks, so that a card is shown; else the phrase seems only mentioned, and
            there is a question only when something would be carried out.
    """

    sentence: str
    start: int
    phrase: str
    phrase_start: int
    phrase_end: int
    card: bool


@dataclass(frozen=True, slots=True)
class _Cut:
    """Where a sentence has ended, unless a phrase goes on beyond it."""

    at: int
    ends_line: bool


class Sentences:
    """The sentences of one message.

    Attributes:
        found: the finished sentences with a phrase, but for those that are excused.
        start: offset of the first character of the current sentence; None before it.
    """

    def __init__(self, table: PhraseTable) -> None:
        """Begin with nothing fed."""
        self.found: list[FoundRequest] = []
        self.start: int | None = None
        self._matcher = PhraseMatcher(table)
        self._pieces: list[str] = []
        self._cuts: list[_Cut] = []
        # Whether anything was said since the last cut.
        self._speaking = False
        # The end of what stands on the line before the current sentence.
        self._line = ""
        self._setting = Setting()
        # Letters and dots since the last whitespace, as far as an abbreviation may go.
        self._word = ""
        # The strength of the marks just seen; whether they are one dot, or one of them asks;
        # and whether whitespace, or a quotation's end, followed.
        self._mark = 0
        self._single = self._question = self._spaced = self._closed = False

    def probe(self) -> Sentences:
        """A copy of the current sentence to try on it what may come next."""
        twin = copy(self)
        twin.found, twin._matcher = [], self._matcher.copy()
        twin._pieces, twin._cuts = self._pieces.copy(), self._cuts.copy()
        return twin

    @property
    def holding(self) -> bool:
        """Whether a phrase has been found so far, its sentence finished or not."""
        if self.found or not self._matcher.found:
            return bool(self.found)
        twin = self.probe()
        twin.end()
        return bool(twin.found)

    def feed(self, char: str, at: int, text: str | None = None) -> None:
        """Take a character that stands at an offset; `text` is what it stands for, if not itself.

        Line ends are none: they go to `end_line`.
        """
        if self._mark and self._ends_before(char):
            self._finish(_Cut(at, ends_line=False))
        self._matcher.feed(char, at)
        if char.isspace():
            self._word = ""
            if self.start is not None:
                self._pieces.append(char)
        else:
            if self.start is None:
                self.start = at
            self._speaking = True
            self._pieces.append(char if text is None else text)
            self._take_mark(char)
        if self._cuts:
            self._settle_cuts()

    def end_line(self, char: str, at: int) -> None:
        """The line is over, and with it its last sentence."""
        self._matcher.feed(char, at)
        if self.start is not None:
            self._pieces.append(char)
        self._finish(_Cut(at + 1, ends_line=True))

    def end(self) -> None:
        """What was said is over, and what comes next is said anew."""
        self._matcher.end()
        self._settle_cuts()
        self._flush()
        self._line, self._setting = "", Setting()

    def _take_mark(self, char: str) -> None:
        if char in _MARKS:
            self._single = char == "." and not self._mark
            self._question = self._question or char in "?？"
            self._mark = max(self._mark, _strength(char))
        elif not self._mark and len(self._word) <= _LONGEST_WORD:
            self._word += char
        if char == "." and len(self._word) <= _LONGEST_WORD:
            self._word += char

    def _finish(self, cut: _Cut) -> None:
        """A sentence ends, unless a phrase that has begun in it goes on."""
        self._word = ""
        self._forget_mark()
        self._matcher.end_sentence()
        if self._speaking:
            self._cuts.append(cut)
            self._settle_cuts()
        elif cut.ends_line:
            self._end_line_at_last_cut()
        self._speaking = False

    def _end_line_at_last_cut(self) -> None:
        if self._cuts:
            self._cuts[-1] = replace(self._cuts[-1], ends_line=True)
        else:
            self._end_line(blank=not self._line.strip())

    def _end_line(self, blank: bool) -> None:
        self._line, self._setting = "", self._setting.after_line(blank)

    def _settle_cuts(self) -> None:
        """End the sentences at those cuts that no phrase goes on beyond."""
        begun, cuts = self._matcher.begun, self._cuts
        settled = list(takewhile(lambda cut: begun is None or cut.at <= begun, cuts))
        if not settled or self.start is None:
            return
        self._cuts = cuts[len(settled) :]
        ended = [cut for cut in settled if not self._matcher.spans(cut.at)]
        if not ended:
            return
        text, first = "".join(self._pieces), self.start
        for cut in ended:
            self._keep(text[self.start - first : cut.at - first], cut.at)
            if cut.ends_line:
                self._end_line(blank=False)
            self.start = cut.at
        rest = text[self.start - first :]
        said = rest.lstrip()
        self.start = self.start + len(rest) - len(said) if said else None
        self._pieces = [said] if said else []

    def _flush(self) -> None:
        """All that was said since the last sentence is one."""
        if self.start is not None:
            text = "".join(self._pieces)
            self._keep(text, self.start + len(text))
        self.start, self._pieces, self._cuts = None, [], []
        self._speaking, self._word = False, ""
        self._forget_mark()

    def _keep(self, text: str, end: int) -> None:
        """Keep a sentence, and what was found in it."""
        assert self.start is not None
        start = self.start + len(text) - len(text.lstrip())
        sentence = text.strip()
        best: FoundRequest | None = None
        for_others: bool | None = None
        for match in self._matcher.take(end):
            if for_others is None:
                for_others = self._setting.of(sentence)
            place = PhraseInSentence(
                sentence,
                match.start - start,
                match.end - start,
                match.phrase,
                self._line,
                for_others,
            )
            if (best is None or not best.card) and not is_excused(place):
                card = not is_mention(place)
                if best is None or card:
                    best = FoundRequest(sentence, start, match.phrase, place.start, place.end, card)
        if best is not None:
            self.found.append(best)
        self._setting = self._setting.after(sentence, self._line)
        self._line = (self._line + text)[-_LONGEST_LINE:]

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
