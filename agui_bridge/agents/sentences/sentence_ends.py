"""Where the sentences of a text end.

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

import re

from agui_bridge.agents.sentences.code import LINE_ENDS
from agui_bridge.agents.sentences.phrase_table import UNSPACED

LONGEST_SENTENCE = 8192
"""Characters: what goes on for longer is cut there, so that looking often costs little."""

_SOFT, _HARD, _WIDE = ".…", "!?", "。！？｡"
_OPENERS = "([（【"
_QUOTES = "\"'”’»」』》〉"
_CLOSERS = _QUOTES + ")]}）】*_"
_MARKS = re.escape(_SOFT + _HARD + _WIDE)
_END = re.compile(
    rf"(?P<marks>[{_MARKS}][{_MARKS}{re.escape(_CLOSERS)}]*)(?P<space>[^\S{LINE_ENDS}]*)"
    rf"|[{LINE_ENDS}]"
)
_MAY_END = re.compile(rf"[{_MARKS}{LINE_ENDS}]")
_WORD = re.compile(r"[^\s。！？｡]{1,13}\Z")
_ABBREVIATIONS = frozenset(
    ("e.g", "i.e", "eg", "ie", "vs", "cf", "mr", "mrs", "ms", "dr", "prof", "approx", "fig")
)


def sentence_ends(text: str) -> list[int]:
    """The offsets right after the sentences that have ended, their whitespace included.

    Whether a mark at the very end of the text ends a sentence shows only with what follows.
    """
    ends = [0]
    for found in _END.finditer(text):
        while found.end() - ends[-1] > LONGEST_SENTENCE:
            ends.append(ends[-1] + LONGEST_SENTENCE)
        if found["marks"] is None or _ends(text, found):
            ends.append(found.end())
    while len(text) - ends[-1] > LONGEST_SENTENCE:
        ends.append(ends[-1] + LONGEST_SENTENCE)
    return ends[1:]


def may_end(text: str) -> bool:
    """Whether a sentence may end in a text: there is a mark or a line's end."""
    return _MAY_END.search(text) is not None


def is_undecided(text: str) -> bool:
    """Whether the next character may show that a sentence has ended."""
    said = text.rstrip()
    return may_end(said[len(said.rstrip(_SOFT + _HARD + _WIDE + _CLOSERS)) :])


def _ends(text: str, found: re.Match[str]) -> bool:
    """Whether the marks end a sentence, by what stands after them."""
    following = text[found.end() : found.end() + 1]
    marks, spaced = found["marks"], bool(found["space"])
    if not following or following in LINE_ENDS:
        return False
    if following in _OPENERS and not {*marks}.isdisjoint("?？"):
        return False
    if not {*marks}.isdisjoint(_QUOTES) and (
        following.islower() or (following >= UNSPACED and not spaced)
    ):
        return False
    if not {*marks}.isdisjoint(_WIDE):
        return True
    if not {*marks}.isdisjoint(_HARD):
        return spaced or following >= UNSPACED
    single = sum(mark in _SOFT for mark in marks) == 1 and marks[0] == "."
    abbreviated = single and _is_abbreviation(text[: found.start() + 1])
    return spaced and not following.islower() and not abbreviated


def _is_abbreviation(before: str) -> bool:
    """Whether a text ends with an abbreviation and its dot."""
    found = _WORD.search(before[-14:])
    word = found[0].removesuffix(".").lstrip("([{\"'“‘*_") if found else ""
    letters = word.split(".") if word.isascii() else ()
    initials = bool(letters) and all(len(part) == 1 and part.isalpha() for part in letters)
    return initials or word.lower() in _ABBREVIATIONS
