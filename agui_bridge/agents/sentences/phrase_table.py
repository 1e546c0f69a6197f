"""Finds phrases in a text, whatever spelling, punctuation and line breaks they were said with.

What counts as the same spelling:

- Words: of a phrase that has only letters, digits and spaces. Case does not matter, nor does what
  stands between two words: whitespace, line breaks and any punctuation are one space, and nothing
  beside a script that writes no spaces. Full-width letters are letters, traditional characters
  are the simplified ones, and 您 is 你, as far as our phrases have them.
- Marks: of any other phrase, such as `[y/n]`. Case does not matter, a run of whitespace is one
  space.

In both the emphasis marks `*` and `_` are not there, so that `Please **confirm**` is found. A
phrase that begins or ends with a letter or digit is found only as whole words, except beside
scripts that write no spaces (Chinese, Japanese): there any neighbour will do.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

CODE = "\ufffc"
"""Stands for a character of code, in which nothing is looked for."""

UNSPACED = "\u2e80"
"""From here on: scripts that put no spaces between words."""

FORMS: Mapping[str, tuple[str, ...]] = {
    "approval": ("approval", "approvals"),
    "confirm": ("confirm", "confirms"),
    "confirmation": ("confirmation", "confirmations"),
    "need": ("need", "needs"),
    "needed": ("needed", "is needed", "are needed"),
    "proceed": ("proceed", "proceeds"),
    "require": ("require", "requires"),
    "required": ("required", "is required", "are required"),
    "waiting": ("waiting", "wait", "waits"),
    "awaiting": ("awaiting", "await", "awaits"),
    "want": ("want", "wants"),
}
"""What a word of a phrase stands for: "needs your approvals" is "need your approval"."""

_EMPHASIS = "*_"
_SAME = str.maketrans("您請確認繼續執嗎審準權後開", "你请确认继续执吗审准权后开")


@dataclass(frozen=True, slots=True)
class Match:
    """A phrase where it was found.

    Attributes:
        phrase: as it was given.
        start: offset of its first character.
        end: the offset after its last character.
        of_words: whether it may go through the end of a sentence.
    """

    phrase: str
    start: int
    end: int
    of_words: bool


class PhraseTable:
    """The phrases, ready to be looked for; made once, shared by all scanners.

    Args:
        phrases: what to look for; of those that have only words also their other forms.
    """

    def __init__(self, phrases: Sequence[str]) -> None:
        plain = {
            _spelled(form, _word_letters)[0]: phrase
            for phrase in reversed(phrases)
            if _is_plain(phrase)
            for form in reversed(forms(phrase))
        }
        marked = {_spelled(p, _mark_letters)[0]: p for p in phrases if not _is_plain(p)}
        self._spellings = [
            (letters, forms) for letters, forms in ((_word_letters, plain), (_mark_letters, marked))
        ]
        self._longest = max(map(len, plain), default=0)
        self._begun = {form[:size] for form in plain for size in range(1, len(form))}
        # Of those the ones that may go on after the end of a word.
        self._begun_words = {
            form[:size]
            for form in plain
            for size in range(1, len(form))
            if form[size] == " " or form[size - 1] >= UNSPACED or form[size] >= UNSPACED
        }

    def find(self, text: str) -> list[Match]:
        """All phrases in a text, by their ends; of those that end together the longest."""
        longest: dict[int, Match] = {}
        for letters, phrases in self._spellings:
            if not phrases:
                continue
            spelled, places = _spelled(text, letters)
            for form, phrase in phrases.items():
                for start in _occurrences(form, spelled):
                    end = start + len(form)
                    match = Match(
                        phrase, places[start], places[end - 1] + 1, letters is _word_letters
                    )
                    known = longest.get(match.end)
                    if known is None or match.start < known.start:
                        longest[match.end] = match
        return [longest[end] for end in sorted(longest)]

    def begun(self, text: str) -> int | None:
        """Offset from which on a phrase may go on beyond the end of a text; None if none may."""
        spelled, places = _spelled(text, _word_letters)
        begun = self._begun_words if places and _parts(text[places[-1] + 1 :]) else self._begun
        for size in range(min(self._longest, len(spelled)), 0, -1):
            start = len(spelled) - size
            if spelled[start:] in begun and _is_whole(spelled, start, start):
                return places[start]
        return None


def forms(phrase: str) -> list[str]:
    """All that a phrase stands for, itself first."""
    choices = [FORMS.get(word, (word,)) for word in phrase.casefold().split()]
    return [" ".join(words) for words in product(*choices)]


def _occurrences(form: str, spelled: str) -> Iterator[int]:
    start = spelled.find(form) if form else -1
    while start >= 0:
        if _is_whole(spelled, start, start + len(form)):
            yield start
        start = spelled.find(form, start + 1)


def _is_whole(spelled: str, start: int, end: int) -> bool:
    """Whether no word goes through a place's start or end."""
    edges = [edge for edge in (start, end) if 0 < edge < len(spelled)]
    return not any(_in_word(spelled[edge - 1]) and _in_word(spelled[edge]) for edge in edges)


def _in_word(char: str) -> bool:
    """Whether a compared character is part of a word that has an end."""
    return char < UNSPACED and (char.isalnum() or unicodedata.category(char)[0] == "M")


def _is_plain(phrase: str) -> bool:
    return all(_word_letters(char) != " " or char.isspace() for char in phrase)


def _parts(text: str) -> bool:
    """Whether a text parts what stands before it from what follows."""
    return any(_word_letters(char) == " " for char in text)


def _spelled(text: str, letters: Callable[[str], str]) -> tuple[str, list[int]]:
    """A text as it is compared, and for each of its characters the offset that it comes from."""
    spelled: list[str] = []
    places: list[int] = []
    apart = False
    for place, char in enumerate(text):
        for letter in letters(char):
            if letter == " ":
                apart = True
                continue
            if apart and spelled:
                between = spelled[-1] < UNSPACED and letter < UNSPACED
                if between or letters is _mark_letters:
                    spelled.append(" ")
                    places.append(place)
            spelled.append(letter)
            places.append(place)
            apart = False
    return "".join(spelled), places


@lru_cache(maxsize=4096)
def _word_letters(char: str) -> str:
    """What is compared of a character: nothing, a space for what parts words, or letters."""
    if char in _EMPHASIS:
        return ""
    kind = unicodedata.category(char)
    if kind == "Cf":
        return ""  # Zero-width characters and soft hyphens.
    if not char.isalnum() and kind[0] != "M":
        return char if char == CODE else " "  # Code parts more than words.
    return unicodedata.normalize("NFKC", char).casefold().translate(_SAME)


@lru_cache(maxsize=4096)
def _mark_letters(char: str) -> str:
    """The same for phrases with punctuation."""
    if char in _EMPHASIS:
        return ""
    return " " if char.isspace() else char.casefold()
