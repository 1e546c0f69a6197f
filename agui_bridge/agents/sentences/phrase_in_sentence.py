"""A phrase in the sentence that it was said in, and the words around it as rules compare them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from agui_bridge.agents.sentences.quotations import straight

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
