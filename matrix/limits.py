"""What remains the peers': which checks it shows in, and where it is told to their authors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

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
            "It keeps nothing: the client says what was asked, and which of it is approved.",
            issue="https://github.com/pydantic/pydantic-ai/issues/6452",
        ),
    ),
    "langgraph": (
        Limit(
            "If several questions wait at once, `resume` can answer none of them.",
            issue=f"{_AG_UI}/issues/2178",
        ),
        Limit(
            "When an approved tool raises, the person is asked again; a second approval "
            "executes it again."
        ),
    ),
    "langgraph-batched": (
        Limit("Edited arguments are taken only if `tool_schemas` has the tool."),
        Limit(
            "When an approved tool raises, the person is asked again; a second approval "
            "executes it again."
        ),
    ),
    "agent-framework": (
        Limit(
            "It runs all the calls of one pause, or none: if one call is declined, it never "
            "runs the approved one, and takes no further answer. The bridge does not send "
            "such an answer: all questions stay open.",
            behind=("parallel.one-cancelled", "parallel.one-declined"),
        ),
        Limit(
            "It keeps its questions only in its process. So one process of it stands behind "
            "every bridge here, and its own restarts are not judged.",
            issue="https://github.com/microsoft/agent-framework/issues/7082",
        ),
    ),
    "agno": (
        Limit(
            "A run that waits for an answer ends like any other: nothing in its stream says "
            "that it asks.",
            issue=f"{_AGNO}/pull/10125",
        ),
        Limit(
            "Its stream looks the same for a confirmation, user input, user feedback and "
            "external execution. Behind the bridge the last three can't be answered.",
            issue=f"{_AGNO}/issues/9285",
        ),
        Limit("Edited arguments are not taken."),
    ),
    "adk": (
        Limit(
            "Edited arguments are not taken, and the reason of a refusal does not reach the model."
        ),
        Limit("If several confirmations are approved, it carries out only the last ones in a row."),
    ),
    "crewai": (
        Limit("It asks about a flow, not about a call, and about one thing at a time."),
        Limit(
            "It has no cancel: it takes a cancelled question for its default outcome, or for "
            "the first of its options. The bridge does not send it cancels."
        ),
    ),
    "strands": (Limit("Edited arguments are not taken."),),
    "ag2": (
        Limit(
            "It asks about one call at a time: each next question ends the run that answers the "
            "last one, and all results come with the last answer."
        ),
        Limit(
            "It keeps its questions only in its process. So one process of it stands behind every "
            "bridge here, and its own restarts are not judged."
        ),
        Limit("Edited arguments are not taken, and the reason of a refusal does not reach it."),
    ),
}
"""By variant. An issue was open in the copy of September 2026 that was searched."""
