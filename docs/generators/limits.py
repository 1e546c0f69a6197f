"""The table of limits within the page on security, from `agui_bridge/engine/limits.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from agui_bridge.documents.limits import render_limits

_BEGIN: Final = "<!-- limits -->\n"
_END: Final = "<!-- /limits -->"


def security_page(path: Path) -> str:
    """The page as it is, with the table as it should be.

    Raises:
        ValueError: the page has no place for it, marked by two comments.
    """
    before, begin, rest = path.read_text(encoding="utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"{path.name} lacks {_BEGIN.strip()} … {_END}")
    return before + begin + render_limits() + end + after
