"""Quotation marks: which open and close what, among apostrophes and inches."""

from __future__ import annotations

import re

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
