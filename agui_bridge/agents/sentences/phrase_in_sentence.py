"""A phrase in the sentence that it was said in, and the words around it as rules compare them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

# --- a rule: words that stand before or after some of the phrases ---
#
# Texts are compared in lower case, with single spaces and without emphasis marks. `CLAUSE` in the
# words stands for what ends a Chinese clause: what stands beyond it says nothing about the phrase.

# Groups of phrases that rules are about, by their first words.
ANY = ""
STATEMENTS = "(?!(?:do|would|are|can|could) you|(?:shall|should|may|can) i|ok)"
REQUIRED = "(?:confirmation|approval) (?:required|needed)"
NEED = "need your|require your"
WAITS = f"waiting|awaiting|{NEED}|{REQUIRED}|等|需要"
NEEDS = f"{REQUIRED}|{NEED}"

_CLAUSE = ",，。；;:：？?！!"


@dataclass(frozen=True, slots=True)
class Rule:
    """Words that tell what a phrase is there for.

    Attributes:
        about: the phrases, by their first words.
        words: to be searched for in the text before the phrase, or after it.
    """

    about: re.Pattern[str]
    words: re.Pattern[str]


def preceded(about: str, *before: str) -> Rule:
    """Words that stand right before the phrases that begin so."""
    return _made(about, rf"(?:{'|'.join(before)})\Z")


def followed(about: str, *after: str) -> Rule:
    """Words that stand right after the phrases that begin so."""
    return _made(about, rf"\A(?:{'|'.join(after)})")


def _made(about: str, words: str) -> Rule:
    return Rule(re.compile(rf"\A(?:{about})"), re.compile(words.replace("CLAUSE", _CLAUSE)))


NEAR = 160
"""Characters before and after a phrase that are looked at."""


@dataclass(frozen=True)
class PhraseInSentence:
    """Where a phrase was said.

    Texts for rules are in lower case, with single spaces, straight apostrophes and without emphasis
    marks.

    Attributes:
        sentence: as it was said.
        start: offset of the phrase's first character in it.
        end: the offset after its last.
        phrase: as it was given, whatever form was said.
        line: what stands before the sentence on its line; of a long one only the end.
    """

    sentence: str
    start: int
    end: int
    phrase: str
    line: str

    @cached_property
    def before(self) -> str:
        """What stands before the phrase in its sentence."""
        return _plain(self.sentence[max(0, self.start - NEAR) : self.start])

    @cached_property
    def said(self) -> str:
        """The phrase as it was said."""
        return _plain(self.sentence[self.start : self.end])

    @cached_property
    def after(self) -> str:
        """What follows the phrase in its sentence."""
        return _plain(self.sentence[self.end : self.end + NEAR])

    @cached_property
    def lead(self) -> str:
        """What stands before the phrase on its line."""
        return _plain(self.line) + self.before


def _plain(text: str) -> str:
    return straight(re.sub(r"\s+", " ", re.sub(r"[*_]", "", text)).lower())


_QUOTES = {
    '"': '"', "“": "”", "„": "”", "‘": "’", "«": "»", "「": "」", "『": "』", "《": "》",
}  # fmt: skip
_OPENING = re.compile(r"(?:^|(?<=[\s(:]))'(?!\s)")
_NO_OPENING = re.compile(r"[a-zA-Z0-9.,!?)%]")
"""Before a straight quotation mark: it closes one that is out of sight, or is an inch."""

_CLOSING = re.compile(r"(?<=[\w.!?,;:%)\]…])'(?!\w)")
"""An apostrophe is a quotation mark only where no word goes through it."""

_PAIRS = re.compile(
    r"""(?<![\w"])"(?=[^\s"])[^"]*(?<=\S)"(?!\w)"""
    r"|“[^“”]*”|„[^“”„]*[“”]|‘[^‘’]*’|«[^«»]*»|「[^「」]*」|『[^『』]*』|《[^《》]*》"
)
"""A quotation with both its marks; a straight one stands where a quotation may begin and end."""


def straight(text: str) -> str:
    """The text with straight apostrophes."""
    return text.replace("‘", "'").replace("’", "'")


def open_quote(text: str) -> tuple[int, str] | None:
    """The offset of the quotation mark that is still open at the end, and what would close it."""
    opened: list[tuple[int, str]] = []
    for place, char in enumerate(_marked(text)):
        if opened and char == opened[-1][1]:
            opened.pop()
        elif char in _QUOTES and not (char == '"' and _NO_OPENING.match(text[place - 1 : place])):
            opened.append((place, _QUOTES[char]))
    return opened[-1] if opened else None


def whole_quotation(text: str, start: int, end: int) -> tuple[str, str] | None:
    """What stands before and after the quotation that holds all of `text[start:end]`.

    None unless both its marks are there beyond doubt.
    """
    for pair in _PAIRS.finditer(_marked(text)):
        if pair.start() < start and end < pair.end():
            return text[: pair.start()], text[pair.end() :]
    return None


def _marked(text: str) -> str:
    """The text with the quotation marks among its apostrophes told apart from the others."""
    return _CLOSING.sub("’", _OPENING.sub("‘", text))
