"""Every sentence for a tool call that has no result of its own, unless a person's answer gives it.

Such an answer's is its `text` (`decisions.py`). All stand in conversations as the results of calls,
so that no history ends in a call that nothing answered. Source: docs/contract.md, "What goes on the
wire" and "Stop".
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from agui_bridge.protocol.answers.decisions import Cancel, Decline
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.history import History
from agui_bridge.protocol.threads.loaded import Loaded

# --- it was certainly not executed ---

DANGLING: Final = "This tool call was not executed."
EXPIRED: Final = Cancel("expired").text
FAILED: Final = "The run failed; this tool call was not executed."
STOPPED: Final = "The run was stopped; this tool call was not executed."

NOT_REACHED: Final = "What the tool works with was not reached; this tool call was not executed."


def without_preview(error: str) -> str:
    """What is said of a call about which nobody was asked, because its preview failed.

    Args:
        error: the type of what was raised; its text may hold secrets.
    """
    return f"{not_shown(error)} It was not executed."


def not_shown(error: str) -> str:
    """The same as a reason."""
    return f"What it would do could not be shown, so nobody was asked: {error}."


# --- nobody can tell ---

BROKE_OFF: Final = "The tool broke off; whether this tool call was executed is unknown."
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

# --- it had begun, and was given up ---

ASKED_TOO_OFTEN: Final = (
    "The tool asked too often and was given up; whether it was executed in part is unknown."
)

# --- it was carried out, and what it returned can't be told ---

UNTELLABLE: Final = "The tool ran; its result has no JSON form, so it is not known here."


def denied_by_policy(reason: str | None) -> str:
    """What is said of a call that the bridge's policy denied; it was not executed."""
    why = f" Reason: {reason}" if reason else ""
    return f"The policy denied this tool call; it was not executed.{why}"


def stopped_by_policy(reason: str | None) -> str:
    """What is said of a call that had begun, and that the policy lets go no further."""
    why = f" Reason: {reason}" if reason else ""
    return (
        "The policy stopped this tool call in its middle; whether it was executed in part is "
        f"unknown.{why}"
    )


_NOT_EXECUTED: Final = frozenset(
    {
        *(DANGLING, EXPIRED, FAILED, STOPPED, NOT_REACHED, Cancel("cancelled").text),
        *(*UNKNOWN, BROKE_OFF, ASKED_TOO_OFTEN, NOT_GIVEN),
    }
)
_BEGINNINGS: Final = (Decline().text, denied_by_policy(None), stopped_by_policy(None))


def says_unexecuted(result: str) -> bool:
    """Whether a call's result is a sentence of these, and says that it did not come to its end.

    Args:
        result: as it stands in a conversation.
    """
    return result in _NOT_EXECUTED or result.startswith(_BEGINNINGS)


# --- answering the tool calls that nothing has answered, so that no history ends dangling ---
#
# Source: docs/contract.md, "What goes on the wire".


def answer_calls(
    history: History,
    content: str,
    *,
    mint: Callable[[], str],
    only: Collection[str] | None = None,
    but: Collection[str] = (),
) -> list[WireEvent]:
    """Answer calls without a result, and fold the answers in.

    Args:
        history: the conversation.
        content: of each result, such as a sentence of `answers.unexecuted`.
        mint: makes message ids.
        only: ids of the calls to look at; None is all.
        but: ids of those to leave alone: calls that wait for an answer.

    Returns:
        The TOOL_CALL_RESULT events to send, in the order of the calls.
    """
    settled = history.calls.answered
    events: list[WireEvent] = [
        {
            "type": "TOOL_CALL_RESULT",
            "messageId": mint(),
            "toolCallId": call,
            "content": content,
            "role": "tool",
        }
        for call in history.calls.ids
        if call not in settled and call not in but and (only is None or call in only)
    ]
    for event in events:
        history.apply(event)
    return events


def answer_batch(
    history: History, loaded: Loaded, content: str, mint: Callable[[], str]
) -> list[WireEvent]:
    """Answer the calls that a batch asked about, and which its questions held back.

    Another call without a result may have been approved in an earlier run, and its framework not
    have told the result yet.
    """
    pending, asked = loaded.pending_calls, loaded.asked_calls
    untold = answer_calls(history, UNTOLD, mint=mint, but=(*pending, *asked))
    return [*untold, *answer_calls(history, content, mint=mint, but=pending)]
