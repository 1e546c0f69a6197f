"""Finds phrases in text that comes one character at a time: an Aho-Corasick automaton.

What counts as equal: case does not matter (Unicode case folding, which works character by
character), a run of whitespace is one space, and the emphasis marks `*` and `_` are not there, so
that `Please **confirm**` is found. Nothing else is normalised: full-width letters are letters of
their own. A phrase that begins or ends with a letter or digit is found only as whole words, except
beside scripts that write no spaces (Chinese, Japanese): there any neighbour will do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["UNSPACED", "Match", "PhraseMatcher", "PhraseTable", "normalised"]

_EMPHASIS = "*_"
UNSPACED = "\u2e80"
"""From here on: scripts that put no spaces between words."""


def normalised(text: str) -> str:
    """What of a text is compared."""
    plain = "".join(char for char in text if char not in _EMPHASIS)
    return " ".join(plain.casefold().split())


class PhraseTable:
    """The phrases as an automaton; made once, shared by all matchers.

    Attributes:
        phrases: as they were given.
        longest: length of the longest one, normalised.
    """

    def __init__(self, phrases: Sequence[str]) -> None:
        """Build the automaton: time and space grow with the phrases' total length."""
        self.phrases: tuple[str, ...] = tuple(phrases)
        texts = [normalised(phrase) for phrase in self.phrases]
        self.longest: int = max(map(len, texts), default=0)
        self._next: list[dict[str, int]] = [{}]
        self._ends: list[list[tuple[int, int]]] = [[]]
        for number, text in enumerate(texts):
            state = 0
            for char in text:
                if char not in self._next[state]:
                    self._next[state][char] = len(self._next)
                    self._next.append({})
                    self._ends.append([])
                state = self._next[state][char]
            if text and not self._ends[state]:
                self._ends[state].append((len(text), number))
        self._fall = [0] * len(self._next)
        queue = deque(self._next[0].values())
        while queue:
            state = queue.popleft()
            for char, child in self._next[state].items():
                self._fall[child] = self.step(self._fall[state], char)
                self._ends[child] += self._ends[self._fall[child]]
                queue.append(child)

    def step(self, state: int, char: str) -> int:
        """The state after one more character."""
        while state and char not in self._next[state]:
            state = self._fall[state]
        return self._next[state].get(char, 0)

    def ends(self, state: int) -> list[tuple[int, int]]:
        """The phrases that end here, as normalised length and number, the longest first."""
        return self._ends[state]


@dataclass(frozen=True, slots=True)
class Match:
    """A phrase where it was found.

    Attributes:
        phrase: as it was given.
        start: place of its first character.
        end: the place after its last character.
    """

    phrase: str
    start: int
    end: int


class PhraseMatcher:
    """Looks for phrases in what it is fed.

    Attributes:
        table: the phrases.
        matches: those that were found, in the order of their ends; of several that end at the same
            place the longest.
    """

    def __init__(self, table: PhraseTable) -> None:
        """Begin with nothing fed."""
        self.table = table
        self.matches: list[Match] = []
        # Found, unless its last word goes on.
        self._due: Match | None = None
        self._state = 0
        # The last characters as they are compared, and where each stands in the text.
        self._recent: deque[str] = deque(maxlen=table.longest + 1)
        self._places: deque[int] = deque(maxlen=table.longest + 1)

    def reset(self) -> None:
        """Forget everything: what comes next has nothing before it."""
        self.matches, self._due = [], None
        self._state = 0
        self._recent.clear()
        self._places.clear()

    def copy(self) -> PhraseMatcher:
        """Another matcher in the same state."""
        twin = PhraseMatcher(self.table)
        twin.matches, twin._due, twin._state = self.matches.copy(), self._due, self._state
        twin._recent, twin._places = self._recent.copy(), self._places.copy()
        return twin

    @property
    def found(self) -> bool:
        """Whether a phrase was found, or would be if the text ended here."""
        return bool(self.matches) or self._due is not None

    def feed(self, char: str, place: int) -> None:
        """Take the next character, and where it stands: `Match` tells places as given here."""
        if char in _EMPHASIS:
            return
        if char.isspace():
            if self._recent and self._recent[-1] != " ":
                self._step(" ", place)
            return
        for folded in char.casefold():
            self._step(folded, place)

    def end(self) -> None:
        """The text ends here: a last word is a whole one."""
        if self._due is not None:
            self.matches.append(self._due)
            self._due = None

    def _step(self, char: str, place: int) -> None:
        if self._due is not None:
            if not _in_word(char):
                self.matches.append(self._due)
            self._due = None
        self._state = self.table.step(self._state, char)
        self._recent.append(char)
        self._places.append(place)
        for length, number in self.table.ends(self._state):
            first = self._recent[-length]
            before = self._recent[-length - 1] if len(self._recent) > length else " "
            if _in_word(first) and _in_word(before):
                continue
            match = Match(self.table.phrases[number], self._places[-length], place + 1)
            if _in_word(char):
                self._due = match
            else:
                self.matches.append(match)
            return


def _in_word(char: str) -> bool:
    return char.isalnum() and char < UNSPACED
