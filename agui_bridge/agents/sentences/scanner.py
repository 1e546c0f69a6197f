"""Finds requests in a message of Markdown that streams in: sentences with a phrase in them.

Two questions are told apart. *May anything be carried out now?* Not once a phrase was said, unless
it is excused: quoted, in code, or denied. *Is a card shown?* Not when the phrase seems only
mentioned (`mentions` tells both). That may be wrong: so it is asked when something would be carried
out.

What was said is kept as it comes, and looked at when one of these is asked. Then the sentences that
no later character can change are decided and forgotten. So the result is that of the whole text,
however it was split, and looking costs no more than the sentence that is still open.

A phrase that begins in one sentence and ends in a later one makes one of them.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agui_bridge.adapters import Adapter
from agui_bridge.agents.sentences.code import LINE_ENDS, Fence, Prose, prose
from agui_bridge.agents.sentences.mentions import is_excused, is_mention
from agui_bridge.agents.sentences.phrase_in_sentence import PhraseInSentence
from agui_bridge.agents.sentences.phrase_table import CODE, UNSPACED, Match, PhraseTable

# --- where the sentences of a text end ---
#
# A sentence ends
# - at a line's end, and at the end of the message;
# - after `。！？｡` wherever they stand;
# - after `!` and `?` before whitespace, or a character of a script without spaces;
# - after `.` and `…` (and runs of them) before whitespace, unless a lower-case letter follows, or
#   the word is an initial or a common abbreviation (`e.g.`). So the dots of `v2.0`, `1,234.5` and
#   `access.log` end nothing, `1,234.` at the end of a sentence does.
#
# Further marks, quotes and brackets right after the mark belong to the sentence that ends, and so
# does what an opening bracket after a question mark begins: "Are you sure? [y/n]". A quotation that
# ends with a mark goes on to who said it: “Are you sure?” she asked.

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


# --- the scanner ---

_LONGEST_LINE = 160
_LONGEST_UNSEEN = 1024


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


class SentenceScanner:
    """Scans one message.

    Attributes:
        offset: characters fed so far.
    """

    def __init__(self, table: PhraseTable) -> None:
        """Begin with nothing fed."""
        self.offset: int = 0
        self._table = table
        self._found: list[FoundRequest] = []
        # What is not decided yet, what stands before it on its line, and the block it stands in.
        self._pieces: list[str] = []
        self._line = ""
        self._fence: Fence | None = None
        # What was found when it was last looked at, how much had been fed, and where what follows
        # may still become a request.
        self._open: list[FoundRequest] = []
        self._looked = self._start = 0
        # Whether nothing ends before the next mark or line's end.
        self._quiet = False

    @property
    def found(self) -> tuple[FoundRequest, ...]:
        """The sentences that have ended and that hold what comes after them, in their order."""
        if not self._quiet:
            self._look()
        return tuple(self._found)

    @property
    def requests(self) -> tuple[FoundRequest, ...]:
        """Those of them that a card is shown for."""
        return tuple(found for found in self.found if found.card)

    @property
    def holding(self) -> bool:
        """Whether nothing may be carried out now: something would be found if the message ended.

        True already before the sentence ends, as soon as its phrase is complete.
        """
        self._look()
        return bool(self._found or self._open)

    @property
    def sentence_start(self) -> int:
        """Offset from which on text may still become a request.

        That is where the current sentence starts; while a code span is undecided, the sentence
        in which it began. What stands before it is decided: whoever withholds requests can let
        it pass.
        """
        if not self._quiet:
            self._look()
        return self._start

    def feed(self, delta: str) -> None:
        """Take the next piece of the message."""
        if delta:
            self._pieces.append(delta)
            self.offset += len(delta)
            too_long = self.offset - self._looked > _LONGEST_UNSEEN
            self._quiet = self._quiet and not too_long and not may_end(delta)

    def end(self) -> None:
        """The message ends here; what is fed next is another one."""
        self._look()
        self._found += self._open
        self._pieces, self._line, self._fence, self._open = [], "", None, []
        self._start, self._quiet = self.offset, False

    def _look(self) -> None:
        """Find what has been said since it was last looked at, and forget what is decided."""
        if self._looked == self.offset:
            return
        self._looked = self.offset
        text = "".join(self._pieces)
        begin = self.offset - len(text)
        stretches, rest = prose(text, self._line, self._fence)
        self._open, decided, self._quiet = [], rest.start, False
        self._start = self.offset if rest.fence else begin + decided
        for stretch in stretches:
            # What stands before a fence has ended; only the last stretch may go on.
            ended = rest.fence is not None or stretch is not stretches[-1]
            before = self._line if stretch.start == 0 else ""
            matches, ends = _cut(stretch, self._table)
            settled = len(stretch.text) if ended else _settled(stretch, ends, self._table)
            for end, found in _requests(stretch, matches, ends, before, begin):
                (self._found if end <= settled else self._open).append(found)
            if not ended:
                decided = stretch.start + settled
                self._start = begin + decided + _blank(text[decided:])
                all_settled = not ends or ends[-1] <= settled
                self._quiet = all_settled and self._start < self.offset and not is_undecided(text)
        self._line = "" if rest.fence else _on_line(self._line, text[:decided])
        self._pieces, self._fence = [text[decided:]], rest.fence


def _cut(stretch: Prose, table: PhraseTable) -> tuple[list[Match], list[int]]:
    """The phrases in a stretch, and the ends of its sentences that none of them goes through."""
    matches = table.find(stretch.plain)
    through: list[list[int]] = []
    for match in sorted((m for m in matches if m.of_words), key=lambda match: match.start):
        if through and match.start < through[-1][1]:
            through[-1][1] = max(through[-1][1], match.end)
        else:
            through.append([match.start, match.end])
    starts = [start for start, _ in through]
    ends: list[int] = []
    for end in sentence_ends(stretch.plain):
        number = bisect_left(starts, end)
        if not number or through[number - 1][1] <= end:
            ends.append(end)
    return matches, ends


def _settled(stretch: Prose, ends: Sequence[int], table: PhraseTable) -> int:
    """The last of the ends that nothing can change which is said later."""
    begun = table.begun(stretch.plain)
    open_at = [place for place in (begun, stretch.undecided) if place is not None]
    limit = min(open_at, default=len(stretch.text))
    return max((end for end in ends if end <= limit), default=0)


def _requests(
    stretch: Prose, matches: Sequence[Match], ends: Sequence[int], before: str, at: int
) -> Iterator[tuple[int, FoundRequest]]:
    """The sentences of a stretch that hold, each with its end; the last one may be open."""
    start, rest = 0, deque(matches)
    for end in (*ends, len(stretch.text)):
        inside = []
        while rest and rest[0].end <= end:
            inside.append(rest.popleft())
        if inside := [match for match in inside if match.start >= start]:
            found = _request(stretch, inside, (start, end), before, at)
            if found is not None:
                yield end, found
        start = end


def _request(
    stretch: Prose, matches: Sequence[Match], span: tuple[int, int], before: str, at: int
) -> FoundRequest | None:
    """What a sentence asks: its first phrase that asks, else its first that is not excused."""
    text = stretch.text[slice(*span)]
    sentence, start = text.strip(), span[0] + _blank(text)
    line = _on_line(before, stretch.text[: span[0]])
    best: FoundRequest | None = None
    for match in matches:
        place = PhraseInSentence(
            sentence, match.start - start, match.end - start, match.phrase, line
        )
        if is_excused(place):
            continue
        card = not is_mention(place)
        if best is None or card:
            first = at + stretch.start + start
            best = FoundRequest(sentence, first, match.phrase, place.start, place.end, card)
        if card:
            break
    return best


def _on_line(before: str, text: str) -> str:
    """What stands on the line that a text ends in; of a long one only the end."""
    place = max(map(text.rfind, LINE_ENDS))
    line = (text[place + 1 :] if place >= 0 else before + text).lstrip()
    return line if len(line) <= _LONGEST_LINE else CODE + line[-_LONGEST_LINE:]


def _blank(text: str) -> int:
    """How much whitespace a text begins with."""
    return len(text) - len(text.lstrip())


# --- what a surface must know of agents that ask in their text ---


class AsksInWords(Adapter):
    """An adapter whose agent's text may hold a question, which is then shown apart from it."""

    @abstractmethod
    def scanner(self) -> SentenceScanner:
        """A scanner for one message of this agent, for a surface that shows questions apart."""
