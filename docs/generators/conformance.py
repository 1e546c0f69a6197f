"""The table of checks within the page on the kit, from the checks themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from agui_bridge.conformance import CHECKS

_BEGIN: Final = "<!-- checks -->\n"
_END: Final = "<!-- /checks -->"
_HEAD: Final = """\
| check | promise | severity, profile | source | how to mend it |
|---|---|---|---|---|
"""


def conformance_page(path: Path) -> str:
    """The page as it is, with the table as it should be.

    Raises:
        ValueError: the page has no place for it, marked by two comments.
    """
    before, begin, rest = path.read_text(encoding="utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"{path.name} lacks {_BEGIN.strip()} … {_END}")
    rows = [
        f"| `{check.id}` | {check.sentence} | {check.severity}, {check.profile} "
        f"| {_cell(check.source)} | {_cell(check.fix)} |\n"
        for check in CHECKS
    ]
    return before + begin + _HEAD + "".join(rows) + end + after


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", "\\n")
