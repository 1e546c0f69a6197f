"""What remains the peers': which checks it shows in, and where it is told to their authors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["LIMITS", "Limit"]

_AG_UI: Final = "https://github.com/ag-ui-protocol/ag-ui"
_AGNO: Final = "https://github.com/agno-agi/agno"


@dataclass(frozen=True, slots=True)
class Limit:
    """Something that a peer does not do.

    Attributes:
        says: what, as a sentence of Markdown.
        behind: the checks that fail for it behind the bridge, too; no other may.
        issue: where it is told to its authors, and open; empty where no such issue was found.
    """

    says: str
    behind: tuple[str, ...] = ()
    issue: str = ""


LIMITS: Final[Mapping[str, tuple[Limit, ...]]] = {
    "agno": (
        Limit(
            "A run that waits ends as any other: nothing in AG-UI says that it asks.",
            issue=f"{_AGNO}/pull/10125",
        ),
        Limit(
            "Its stream does not tell a confirmation from user input, user feedback or external "
            "execution; the latter can't be answered behind the bridge.",
            issue=f"{_AGNO}/issues/9285",
        ),
        Limit("Edited arguments are not taken."),
    ),
    "strands": (Limit("Edited arguments are not taken."),),
}
"""By variant. Issues were found open in November 2026."""
