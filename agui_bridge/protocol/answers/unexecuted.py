"""Every sentence for a tool call that has no result of its own, unless a person's answer gives it.

Such an answer's is its `text` (`decisions.py`). All stand in conversations as the results of calls,
so that no history ends in a call that nothing answered. Source: docs/contract.md, "What goes on the
wire" and "Stop".
"""

from __future__ import annotations

from typing import Final

from agui_bridge.protocol.answers.decisions import Cancel

__all__ = [
    "CANCELLED_AMID",
    "DANGLING",
    "EXPIRED",
    "FAILED",
    "FAILED_AMID",
    "LOST",
    "NOT_GIVEN",
    "STOPPED",
    "STOPPED_AMID",
    "UNKNOWN",
    "UNREPORTED",
    "UNTELLABLE",
    "UNTOLD",
    "denied_by_policy",
]

# --- it was certainly not executed ---

DANGLING: Final = "This tool call was not executed."
EXPIRED: Final = Cancel("expired").text
FAILED: Final = "The run failed; this tool call was not executed."
STOPPED: Final = "The run was stopped; this tool call was not executed."

# --- nobody can tell ---

CANCELLED_AMID: Final = "The tool was cancelled while it ran; whether it acted is unknown."
FAILED_AMID: Final = "The run failed; whether this tool call was executed is unknown."
LOST: Final = "The run was lost; whether this tool call was executed is unknown."
STOPPED_AMID: Final = "The run was stopped; whether this tool call was executed is unknown."
UNTOLD: Final = "No result was reported; whether this tool call was executed is unknown."

UNKNOWN: Final = frozenset({CANCELLED_AMID, FAILED_AMID, LOST, STOPPED_AMID, UNTOLD})
"""What a result that arrives late takes the place of."""

# --- the application was to carry it out ---

NOT_GIVEN: Final = "The application gave no result for this tool call before the person wrote on."
"""What a result that the application still gives takes the place of."""

# --- the framework came to its end without a word of it ---

UNREPORTED: Final = "No result was reported for this tool call."

# --- it was carried out, and what it returned can't be told ---

UNTELLABLE: Final = "The tool ran; its result has no JSON form, so it is not known here."


def denied_by_policy(reason: str | None) -> str:
    """What is said of a call that the bridge's policy denied; it was not executed."""
    why = f" Reason: {reason}" if reason else ""
    return f"The policy denied this tool call; it was not executed.{why}"
