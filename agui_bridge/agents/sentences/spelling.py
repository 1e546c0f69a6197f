"""What counts as the same spelling when a phrase is compared with what was said.

- Words: of a phrase that has only letters, digits and spaces. Case does not matter, nor does what
  stands between two words: whitespace, line breaks and any punctuation are one space, and nothing
  beside a script that writes no spaces. Full-width letters are letters, traditional characters
  are the simplified ones, and 您 is 你, as far as our phrases have them.
- Marks: of any other phrase, such as `[y/n]`. Case does not matter, a run of whitespace is one
  space.

In both the emphasis marks `*` and `_` are not there, so that `Please **confirm**` is found.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import lru_cache

__all__ = ["UNSPACED", "Spelling", "in_word", "is_plain", "marks", "spelled", "words"]

UNSPACED = "\u2e80"
"""From here on: scripts that put no spaces between words."""

Spelling = Callable[[str], str]
"""From a character to what is compared: nothing, a space for what parts words, or letters."""

_EMPHASIS = "*_"
_SAME = str.maketrans("您請確認繼續執嗎審準權後開", "你请确认继续执吗审准权后开")


@lru_cache(maxsize=4096)
def words(char: str) -> str:
    """The spelling of phrases that have only words."""
    if char in _EMPHASIS:
        return ""
    kind = unicodedata.category(char)
    if kind == "Cf":
        return ""  # Zero-width characters and soft hyphens.
    if not char.isalnum() and kind[0] != "M":
        # What stands for code parts more than words.
        return char if char == "\ufffc" else " "
    return unicodedata.normalize("NFKC", char).casefold().translate(_SAME)


@lru_cache(maxsize=4096)
def marks(char: str) -> str:
    """The spelling of phrases with punctuation."""
    if char in _EMPHASIS:
        return ""
    return " " if char.isspace() else char.casefold()


def spelled(text: str, spelling: Spelling) -> str:
    """A whole text as it is compared."""
    compared = ""
    apart = False
    for char in text:
        for letter in spelling(char):
            if letter == " ":
                apart = True
                continue
            if apart and compared and (spelling is marks or parted(compared[-1], letter)):
                compared += " "
            compared += letter
            apart = False
    return compared


def parted(before: str, after: str) -> bool:
    """Whether words that end and begin so have a space between them."""
    return before < UNSPACED and after < UNSPACED


def is_plain(phrase: str) -> bool:
    """Whether a phrase has only words."""
    return all(words(char) != " " or char.isspace() for char in phrase)


def in_word(char: str) -> bool:
    """Whether a compared character is part of a word that has an end."""
    return char < UNSPACED and (char.isalnum() or unicodedata.category(char)[0] == "M")
