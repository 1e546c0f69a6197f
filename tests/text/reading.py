"""What people read, read back: the values that a text stands for."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any, Final

from agui_bridge.text.visible import visible

__all__ = ["hides_nothing", "in_order", "logical", "unmarked", "value_of", "word_of"]

_MARK: Final = re.compile(r"\\u(?:([0-9a-f]{4})|\{([0-9a-f]{1,6})\})")

_ISOLATE: Final = re.compile("\u2068([^\u2068\u2069\n]*)\u2069")


def logical(shown: str) -> str:
    """A text without the isolates that keep what is in them to itself."""
    return _ISOLATE.sub(r"\1", shown)


def in_order(shown: str) -> bool:
    """Whether what stands outside of isolates is read from left to right, as it was written."""
    return not any(
        unicodedata.bidirectional(character) in ("R", "AL", "AN")
        for character in _ISOLATE.sub("", shown)
    )


def hides_nothing(text: str) -> bool:
    """Whether every character of a text can be seen."""
    plain = logical(text).replace("\r\n", "\n").replace("\\", "|")
    return visible(plain) == plain


def unmarked(shown: str) -> str:
    """The text that `visible` has shown so."""
    return _MARK.sub(lambda mark: chr(int(mark[1] or mark[2], 16)), shown)


def value_of(shown: str) -> Any:
    """The value that `visible_value` has shown so: what is no JSON is a text."""
    shown = logical(shown)
    try:
        return json.loads(shown)
    except (ValueError, RecursionError):
        return unmarked(shown)


def word_of(shown: str) -> str:
    """The name that `visible_word` has shown so: quotation marks are those of JSON."""
    shown = logical(shown)
    return str(json.loads(shown)) if shown.startswith('"') else unmarked(shown)
