"""What clients are told of a question's rule and votes, and which questions are theirs.

Source: docs/contract.md, W29 and W30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agui_bridge.protocol.approvals.entitlement import why_not
from agui_bridge.protocol.threads.records import Interrupt, Json, Principal

__all__ = ["public_approval", "told_to"]


def public_approval(ask: Interrupt) -> dict[str, Json] | None:
    """What stands in `metadata.agui_bridge.approval`; None where there is no rule.

    Args:
        ask: the question.
    """
    rule = ask.rule
    if rule is None:
        return None
    told: dict[str, Any] = {
        "approvers": list(rule.approvers),
        "quorum": rule.votes,
        "selfApproval": rule.self_approval,
        "votes": len([vote for vote in ask.votes if vote.args_digest is not None]),
        "votedBy": [vote.actor for vote in ask.votes],
    }
    if rule.each_of:
        told["eachOf"] = [list(group) for group in rule.each_of]
    if rule.within:
        told["within"] = [list(group) for group in rule.within]
    if ask.asked_by is not None:
        told["askedBy"] = ask.asked_by
    edited = _edited(ask)
    if edited is not None:
        told["editedArgs"] = edited
    return told


def told_to(asks: Sequence[Interrupt], principal: Principal) -> Sequence[Interrupt]:
    """The open questions that somebody is told of: theirs to answer, or all where none is.

    Clients refuse to send a resume that leaves out a question which they were told of, and some
    show only the first one: what is others' to answer would keep them from answering their own.

    Args:
        asks: the questions that can be answered.
        principal: who is told.
    """
    own = [
        ask
        for ask in asks
        if why_not(ask, principal) is None
        and all(vote.actor != principal.actor for vote in ask.votes)
    ]
    return own or asks


def _edited(ask: Interrupt) -> Json:
    """The arguments that were agreed to so far, where somebody changed them."""
    for vote in ask.votes:
        payload = vote.answer.payload
        if vote.args_digest is not None and isinstance(payload, Mapping):
            return payload.get("editedArgs") if ask.tool_call is not None else None
    return None
