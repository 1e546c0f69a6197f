"""Where a line ends, whatever system it was written on."""

from __future__ import annotations

__all__ = ["LINE_ENDS", "one_line"]

LINE_ENDS = "\n\r\u2028\u2029"
_SPACES = str.maketrans(dict.fromkeys(LINE_ENDS, " "))


def one_line(sentence: str) -> str:
    """A sentence without line ends: a phrase may have gone on beyond one."""
    return sentence.translate(_SPACES)
