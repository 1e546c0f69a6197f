"""Finds phrases in text that comes one character at a time.

What counts as equal is said in `spelling`, which other forms of a phrase are looked for in
`phrase_forms`. A phrase that begins or ends with a letter or digit is found only as whole words,
except beside scripts that write no spaces (Chinese, Japanese): there any neighbour will do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from agui_bridge.agents.sentences.automaton import Automaton
from agui_bridge.agents.sentences.phrase_forms import forms
from agui_bridge.agents.sentences.spelling import (
    Spelling,
    in_word,
    is_plain,
    marks,
    parted,
    spelled,
    words,
)

__all__ = ["Match", "PhraseMatcher", "PhraseTable"]


class PhraseTable:
    """The phrases, ready to be looked for; made once, shared by all matchers.

    Attributes:
        phrases: as they were given.
        parts: for each spelling the automaton, and the phrases by the numbers of its texts.
    """

    def __init__(self, phrases: Sequence[str]) -> None:
        """Build it: time and space grow with the phrases' total length."""
        self.phrases: tuple[str, ...] = tuple(phrases)
        plain = [(form, phrase) for phrase in phrases if is_plain(phrase) for form in forms(phrase)]
        marked = [(phrase, phrase) for phrase in phrases if not is_plain(phrase)]
        self.parts: list[tuple[Spelling, Automaton, list[str]]] = [
            (
                spelling,
                Automaton([spelled(text, spelling) for text, _ in given]),
                [p for _, p in given],
            )
            for spelling, given in ((words, plain), (marks, marked))
            if given
        ]


@dataclass(frozen=True, slots=True)
class Match:
    """A phrase where it was found.

    Attributes:
        phrase: as it was given.
        start: offset of its first character.
        end: the offset after its last character.
    """

    phrase: str
    start: int
    end: int


class PhraseMatcher:
    """Looks for phrases in what it is fed.

    Attributes:
        table: the phrases.
    """

    def __init__(self, table: PhraseTable) -> None:
        """Begin with nothing fed."""
        self.table = table
        self._tracks = [_Track(*part) for part in table.parts]

    def copy(self) -> PhraseMatcher:
        """Another matcher in the same state."""
        twin = PhraseMatcher(self.table)
        twin._tracks = [track.copy() for track in self._tracks]
        return twin

    @property
    def found(self) -> bool:
        """Whether there is a match to take, or would be if the text ended here."""
        return any(track.matches or track.due for track in self._tracks)

    @property
    def begun(self) -> int | None:
        """Offset from which on a phrase may go on beyond the end of a sentence here."""
        begun = [track.begun for track in self._tracks]
        return min((offset for offset in begun if offset is not None), default=None)

    def spans(self, offset: int) -> bool:
        """Whether a match has begun before an offset and ended after it."""
        return any(track.spans(offset) for track in self._tracks)

    def feed(self, char: str, at: int) -> None:
        """Take the next character, and its offset: a `Match` has offsets as given here."""
        for track in self._tracks:
            track.feed(char, at)

    def end_sentence(self) -> None:
        """A sentence ends here: only words go on."""
        for track in self._tracks:
            track.end_sentence()

    def end(self) -> None:
        """The text ends here: a last word is a whole one, and what comes next begins anew."""
        for track in self._tracks:
            track.end()

    def take(self, until: int) -> list[Match]:
        """Give away the matches that end by an offset, in the order of their ends.

        Of several that end at the same place it is the longest.
        """
        taken = [match for track in self._tracks for match in track.take(until)]
        return sorted(taken, key=lambda match: match.end) if len(self._tracks) > 1 else taken


class _Track:
    """Looks for the phrases of one spelling."""

    def __init__(self, spelling: Spelling, automaton: Automaton, phrases: Sequence[str]) -> None:
        self._part = spelling, automaton, phrases
        self.matches: list[Match] = []
        # Found, unless its last word goes on.
        self.due: Match | None = None
        self._state = 0
        # Whether something that parts words came last.
        self._apart = False
        # The last characters as they are compared, and the offset of each.
        self._recent: deque[str] = deque(maxlen=automaton.longest + 1)
        self._places: deque[int] = deque(maxlen=automaton.longest + 1)

    def copy(self) -> _Track:
        twin = _Track(*self._part)
        twin.matches, twin.due = self.matches.copy(), self.due
        twin._state, twin._apart = self._state, self._apart
        twin._recent, twin._places = self._recent.copy(), self._places.copy()
        return twin

    @property
    def begun(self) -> int | None:
        if self.due is not None:
            return self.due.start
        automaton = self._part[1]
        depth = (automaton.depth_apart if self._apart else automaton.depth)(self._state)
        return self._places[-depth] if depth else None

    def spans(self, offset: int) -> bool:
        for match in reversed(self.matches):
            if match.end <= offset:
                return False
            if match.start < offset:
                return True
        return False

    def feed(self, char: str, at: int) -> None:
        spelling = self._part[0]
        for letter in spelling(char):
            if letter == " ":
                self._settle()
                self._apart = True
                continue
            before = self._recent[-1] if self._apart and self._recent else ""
            if before and (spelling is marks or parted(before, letter)):
                self._step(" ", at)
            self._apart = False
            self._step(letter, at)

    def end_sentence(self) -> None:
        self._settle()
        self._apart = True
        if self._part[0] is marks:
            self._forget()

    def end(self) -> None:
        self._settle()
        self._forget()

    def take(self, until: int) -> list[Match]:
        if not self.matches or self.matches[-1].end <= until:
            taken, self.matches = self.matches, []
            return taken
        taken = [match for match in self.matches if match.end <= until]
        self.matches = self.matches[len(taken) :]
        return taken

    def _forget(self) -> None:
        self._state, self._apart = 0, False
        self._recent.clear()
        self._places.clear()

    def _settle(self) -> None:
        """What comes next is no part of the last word."""
        if self.due is not None:
            self.matches.append(self.due)
            self.due = None

    def _step(self, char: str, at: int) -> None:
        if self.due is not None:
            if not in_word(char):
                self._settle()
            self.due = None
        _, automaton, phrases = self._part
        self._state = automaton.step(self._state, char)
        self._recent.append(char)
        self._places.append(at)
        for length, number in automaton.ends(self._state):
            first = self._recent[-length]
            before = self._recent[-length - 1] if len(self._recent) > length else " "
            if in_word(first) and in_word(before):
                continue
            match = Match(phrases[number], self._places[-length], at + 1)
            if in_word(char):
                self.due = match
            else:
                self.matches.append(match)
            return
