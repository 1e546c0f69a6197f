"""Tells a request from a mere mention of its words: "there is no need to please confirm".

A phrase is only mentioned when the words around it, within its line, say so: it is quoted
from somebody, denied, told of others or of the past, part of another question, or the name of a
button. The rules are narrow, because a mention taken for a request costs a needless question,
and a request taken for a mention an answer that nobody gave: where both can be read, it is a
request. So a quotation that the speaker introduces as its own ("Let me ask: “Shall I proceed?”"),
or that is the whole line, asks.

How well this works on text that the rules were not made for is measured by
tests/agents/test_detection.py.
"""

from __future__ import annotations

import re

from agui_bridge.agents.sentences.mention_rules import (
    AFTER,
    BEFORE,
    HEADINGS,
    OWN_WORDS,
    SPEAKER,
    TOLD,
)

__all__ = ["is_mention"]

_NEAR = 160
"""Characters before and after a phrase that are looked at."""

_QUOTES = {
    '"': '"', "“": "”", "„": "”", "‘": "’", "«": "»", "「": "」", "『": "』", "《": "》",
}  # fmt: skip
_OPENING = re.compile(r"(?:^|(?<=[\s(:]))'(?!\s)")
_CLOSING = re.compile(r"(?<=[\w.!?,])'(?!\w)")
"""An apostrophe is a quotation mark only where no word goes through it."""

_QUOTED_LINE = re.compile(r">[\s>]*(?!\*\*|__|\[!)[\w\"'“‘「(\[`<-](?!.*\bI\b)")
"""A line of a block quotation, but not of a box ("> ⚠️ Please confirm") or the speaker's own."""


def is_mention(sentence: str, start: int, end: int, line: str = "") -> bool:
    """Whether the phrase at `sentence[start:end]` is mentioned, not meant.

    Args:
        sentence: in which it stands, as it was said.
        start: offset of its first character.
        end: the offset after its last.
        line: what stands before the sentence on its line; of a long one only the end.
    """
    before = _plain(sentence[max(0, start - _NEAR) : start])
    phrase = _plain(sentence[start:end])
    after = _plain(sentence[end : end + _NEAR])
    return (
        _QUOTED_LINE.match(line + sentence) is not None
        or any(rule.about.match(phrase) and rule.words.search(before) for rule in BEFORE)
        or any(rule.about.match(phrase) and rule.words.match(after) for rule in AFTER)
        or _is_quoted(_plain(line) + before, after)
        or _is_a_part(line + sentence[:start])
    )


def _is_quoted(before: str, after: str) -> bool:
    """Whether a quotation that is not the speaker's own holds what stands between the two."""
    opened = _open_quote(before)
    if opened is None:
        return False
    place, closer = opened
    lead = before[:place].strip(" #>:,，：")
    if OWN_WORDS.search(lead) and not TOLD.search(lead):
        return False
    # A line that is a quotation as a whole is what the speaker says.
    _, closed, rest = _marked(after).partition(closer)
    return bool(lead) or (bool(closed) and any(char.isalnum() for char in rest))


def _is_a_part(before: str) -> bool:
    """Whether somebody of a play or a chat says it."""
    speaker = SPEAKER.search(before)
    name = speaker and (speaker["name"] or speaker["bold"])
    return name is not None and HEADINGS.fullmatch(name.lower()) is None


def _open_quote(text: str) -> tuple[int, str] | None:
    """The offset of the quotation mark that is still open at the end, and what would close it."""
    opened: list[tuple[int, str]] = []
    for place, char in enumerate(_marked(text)):
        if opened and char == opened[-1][1]:
            opened.pop()
        elif char in _QUOTES:
            opened.append((place, _QUOTES[char]))
    return opened[-1] if opened else None


def _marked(text: str) -> str:
    """The text with the quotation marks among its apostrophes told apart from the others."""
    return _CLOSING.sub("’", _OPENING.sub("‘", text))


def _plain(text: str) -> str:
    """What is compared."""
    plain = re.sub(r"\s+", " ", re.sub(r"[*_]", "", text)).lower()
    return plain.replace("‘", "'").replace("’", "'")
