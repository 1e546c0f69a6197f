"""Who asked for a run: they may not be the ones who approve what it asks.

Source: docs/contract.md, "Who asked".
"""

from __future__ import annotations

from agui_bridge.engine.input.starting_conversation import StartingConversation
from agui_bridge.engine.input.submission import Submission
from agui_bridge.protocol.json_values import same_json
from agui_bridge.protocol.threads.records import ThreadRecord

__all__ = ["askers_of"]


def askers_of(
    submission: Submission, incoming: StartingConversation, *, continues: bool
) -> tuple[str, ...]:
    """Who asked for a run: whoever began it, and everybody whose messages came to it since.

    Whoever only answers a question of it, or returns an application's results, has not asked.
    Whoever changes the shared state with an answer has: what is asked next is made of it.
    """
    actor, record = submission.principal.actor, incoming.loaded.record
    before = record.askers if continues and record is not None else ()
    if not continues:
        return (actor,)
    # A message that is the answer itself is a request for nothing else.
    speaks = incoming.has_new_message and (
        bool(submission.parsed.entries) or not incoming.loaded.asks
    )
    asks = speaks or _changes_state_with_answer(submission, record)
    return tuple(dict.fromkeys((*before, actor))) if asks or not before else before


def _changes_state_with_answer(submission: Submission, record: ThreadRecord | None) -> bool:
    parsed = submission.parsed
    if not (parsed.entries and parsed.has_state) or record is None:
        return False
    return not same_json(parsed.input.state, record.state)
