"""What is kept of an input whose answers are not all yet: answers, votes, and what it says besides.

Source: docs/contract.md, rows 17 and 17b.
"""

from __future__ import annotations

from agui_bridge.engine.input.askers import askers_of
from agui_bridge.engine.input.held_context import context_of
from agui_bridge.engine.input.starting_conversation import StartingConversation
from agui_bridge.engine.input.submission import Submission
from agui_bridge.protocol.contract.requests import Hold
from agui_bridge.protocol.contract.transitions import Change, hold

__all__ = ["hold_answers"]


def hold_answers(submission: Submission, incoming: StartingConversation, ruling: Hold) -> Change:
    """Keep what an input answers until the rest is here, and all that it brings besides."""
    parsed = submission.parsed
    return hold(
        incoming.loaded,
        ruling,
        submission.principal.actor,
        submission.via,
        # A message that is the answer itself says nothing besides it.
        messages=incoming.said() if parsed.entries else (),
        state=parsed.input.state if parsed.has_state else ...,
        context=context_of(parsed.input),
        askers=askers_of(submission, incoming, continues=True),
    )
