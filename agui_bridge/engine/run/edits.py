"""Arguments that people edited: the conversation tells those that are executed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial

from agui_bridge.protocol.answers.decisions import Approve, Decision
from agui_bridge.protocol.threads.edited_calls import with_executed, with_proposed
from agui_bridge.protocol.threads.history import History
from agui_bridge.protocol.threads.records import Interrupt

__all__ = ["take_edits_back", "tell_edits"]


def tell_edits(
    history: History, asks: Mapping[str, Interrupt], decisions: Mapping[str, Decision]
) -> None:
    """Put the edited arguments into the calls that they are for.

    With the claim already: whatever becomes of the run, what may have been executed stands there.

    Args:
        history: the conversation.
        asks: the questions, by interrupt id.
        decisions: what was decided on them.
    """
    for call_id, approved in _edited(asks, decisions).items():
        arguments = json.dumps(approved.args, ensure_ascii=False)
        history.rewrite_call(call_id, partial(with_executed, call_id=call_id, arguments=arguments))


def take_edits_back(
    history: History, asks: Mapping[str, Interrupt], decisions: Mapping[str, Decision]
) -> None:
    """Put the proposed arguments back: nothing was executed, and the questions are open again."""
    for call_id in _edited(asks, decisions):
        history.rewrite_call(call_id, partial(with_proposed, call_id=call_id))


def _edited(asks: Mapping[str, Interrupt], decisions: Mapping[str, Decision]) -> dict[str, Approve]:
    return {
        call.id: decision
        for ask, decision in decisions.items()
        if isinstance(decision, Approve)
        and (call := asks[ask].tool_call) is not None
        and decision.args != call.args
    }
