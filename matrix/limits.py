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
    "pydantic-ai": (
        Limit(
            "It keeps nothing: who calls it says what was asked, and what of that is approved.",
            issue="https://github.com/pydantic/pydantic-ai/issues/6452",
        ),
    ),
    "langgraph": (
        Limit(
            "Of several questions at once none can be answered by `resume`.",
            issue=f"{_AG_UI}/issues/2178",
        ),
        Limit("A tool that raises is asked about again; who approves then executes again."),
    ),
    "langgraph-batched": (
        Limit("Edited arguments are taken where `tool_schemas` knows the tool."),
        Limit("A tool that raises is asked about again; who approves then executes again."),
    ),
    "agent-framework": (
        Limit(
            "It runs all the calls of one pause, or none: beside a declined call it never runs "
            "the approved one, and takes no further answer. The bridge does not send such an "
            "answer; all stays open.",
            behind=("parallel.one-cancelled", "parallel.one-declined"),
        ),
        Limit(
            "What waits lies in its process alone, so that here one process of it stands behind "
            "every bridge, and none of its own restarts is judged.",
            issue="https://github.com/microsoft/agent-framework/issues/7082",
        ),
    ),
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
    "adk": (
        Limit("Edited arguments are not taken, and a reason does not reach the model."),
        Limit("Of several confirmations it carries out the last ones in a row."),
    ),
    "crewai": (
        Limit("It asks about a flow, not about a call, and about one thing at a time."),
        Limit(
            "It has no cancel: one counts as its default outcome, or as the first of its options. "
            "The bridge does not send it."
        ),
    ),
    "strands": (Limit("Edited arguments are not taken."),),
}
"""By variant. An issue was open in the copy of September 2026 that was searched."""
