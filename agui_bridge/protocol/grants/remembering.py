"""When a decision may be remembered, what is remembered, and which questions it answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from agui_bridge.frozen import replace
from agui_bridge.protocol.contract.transitions import moved
from agui_bridge.protocol.grants.covering import covered_arguments, lasting, times
from agui_bridge.protocol.grants.grant import Grant
from agui_bridge.protocol.grants.matching import matches
from agui_bridge.protocol.threads.approval_rule import ApprovalRule, Remember
from agui_bridge.protocol.threads.records import (
    Interrupt,
    InterruptStatus,
    Json,
    RecordedAnswer,
    ThreadKey,
)

__all__ = ["MEMBER", "answered_by", "grant_of", "offered_words", "offering", "usable"]

MEMBER: Final = "remember"
"""The member of an answer that asks for it."""

_THREAD_SECONDS: Final = 8 * 3600.0
_LONG_SECONDS: Final = 30 * 86_400.0


def offering(ask: Interrupt) -> Interrupt:
    """A question whose response schema offers what its rule lets be remembered.

    Args:
        ask: the question, with its rule.
    """
    schema, offers = ask.response_schema, _offers(ask)
    properties = (schema or {}).get("properties", {})
    if schema is None or not offers or not isinstance(properties, Mapping) or MEMBER in properties:
        return ask
    told = " ".join(f"{name}: {words}." for name, words in offered_words(ask).items())
    member = {**_member(offers), "description": told}
    return replace(ask, response_schema={**schema, "properties": {**properties, MEMBER: member}})


def offered_words(ask: Interrupt) -> dict[str, str]:
    """What may be remembered of the answer to a question, in words, by holder.

    For whom, how long, how often, and how far the arguments of other calls may differ.

    Args:
        ask: the question, with its rule.
    """
    call = ask.tool_call
    if call is None:
        return {}
    whom = {
        "thread": "in this conversation",
        "actor": f"for {ask.asked_by or 'whoever asked'}",
        "scope": "for everybody",
    }
    return {
        name: f"{whom[name]}, for {lasting(_seconds(offer))}, {times(offer.max_uses)}; "
        f"with {covered_arguments(call.args, offer.args or {})}"
        for name, offer in _offers(ask).items()
    }


def grant_of(key: ThreadKey, ask: Interrupt, now: float) -> Grant | None:
    """What an answer asks to be remembered; None where it does not, or may not.

    An answer that was held and is claimed now asked for it when it was held: what was revoked in
    between stays revoked.

    Args:
        key: the thread.
        ask: the question, as the commit left it that answered it.
        now: the store's time.
    """
    payload = ask.answer.payload if ask.answer is not None else None
    if not isinstance(payload, Mapping) or payload.get("approved") is not True:
        return None
    offer = _offered(ask, payload.get(MEMBER))
    call, by = ask.tool_call, _answered_by(ask)
    if offer is None or call is None or by is None or "editedArgs" in payload:
        return None
    held_by = {"thread": key.thread, "actor": ask.asked_by or "", "scope": ""}[offer.holder]
    if offer.holder == "actor" and (ask.asked_by is None or ask.joined_by):
        return None
    return Grant(
        id=ask.id,
        scope=key.scope,
        agent=key.agent,
        tool=call.name,
        rule=ask.rule.name if ask.rule is not None else None,
        holder=offer.holder,
        held_by=held_by,
        args=call.args,
        matchers=dict(offer.args or {}),
        granted_by=by,
        created_at=now,
        expires_at=now + _seconds(offer),
        max_uses=offer.max_uses,
    )


def usable(grants: Iterable[Grant], key: ThreadKey, ask: Interrupt, now: float) -> list[Grant]:
    """Those remembered decisions that answer a question, the ones of the thread first.

    Args:
        grants: of the scope, the agent and the tool.
        key: the thread.
        ask: the question, open, with its rule.
        now: the store's time.
    """
    offers = _offers(ask)
    found = [
        grant
        for grant in grants
        if grant.stands(now) and grant.holder in offers and _answers(grant, key, ask)
    ]
    return sorted(found, key=lambda grant: ("thread", "actor", "scope").index(grant.holder))


def answered_by(ask: Interrupt, grant: Grant, now: float) -> Interrupt:
    """A question that a remembered decision has answered.

    Args:
        ask: the question, open.
        grant: what answers it; its use is counted already.
        now: the store's time.
    """
    answer = RecordedAnswer("resolved", {"approved": True})
    answered = replace(ask, answer=answer)
    return moved(answered, InterruptStatus.ANSWERED, now, grant.actor, "rule")


def _answers(grant: Grant, key: ThreadKey, ask: Interrupt) -> bool:
    call = ask.tool_call
    if call is None or ask.rule is None:
        return False
    if (grant.scope, grant.agent, grant.tool) != (key.scope, key.agent, call.name):
        return False
    if grant.rule != ask.rule.name:
        return False
    if grant.holder == "thread" and grant.held_by != key.thread:
        return False
    # Several askers are not the one whom it was granted to.
    if grant.holder == "actor" and (grant.held_by != ask.asked_by or ask.joined_by):
        return False
    return matches(grant.args, grant.matchers, call.args)


def _offers(ask: Interrupt) -> dict[str, Remember]:
    """What may be remembered of the answer to a question, by holder; the first of each counts."""
    rule = ask.rule
    if rule is None or ask.tool_call is None or not _one_may_decide(rule):
        return {}
    offers: dict[str, Remember] = {}
    for offer in rule.remember:
        offers.setdefault(offer.holder, offer)
    return offers


def _offered(ask: Interrupt, chosen: Json) -> Remember | None:
    """What an answer chose of the offers; None where its question did not make them.

    An adapter's own schema may mean something else by the member, and where none names it, it may
    hold anything.
    """
    offers = _offers(ask)
    properties = (ask.response_schema or {}).get("properties")
    member = properties.get(MEMBER) if isinstance(properties, Mapping) else None
    # Without a description it was asked by an earlier version.
    if not isinstance(member, Mapping) or {**member, "description": ""} != {
        **_member(offers),
        "description": "",
    }:
        return None
    return offers.get(chosen) if isinstance(chosen, str) else None


def _member(offers: Mapping[str, Remember]) -> dict[str, Json]:
    return {"type": "string", "enum": list(offers), "title": "Do not ask again for this"}


def _seconds(offer: Remember) -> float:
    if offer.expires_in is not None:
        return offer.expires_in
    return _THREAD_SECONDS if offer.holder == "thread" else _LONG_SECONDS


def _one_may_decide(rule: ApprovalRule) -> bool:
    """Whether a rule wants neither several people nor certain ones.

    Whom an agent narrowed a question to has not seen what somebody else had remembered.
    """
    return rule.votes == 1 and not rule.each_of and rule.self_approval and not rule.within


def _answered_by(ask: Interrupt) -> str | None:
    """The actor whose answer its last change is; None where that is another change."""
    held, claimed = InterruptStatus.ANSWERED, InterruptStatus.CLAIMED
    statuses = [change.status for change in ask.changes[-2:]]
    if not statuses or statuses[-1] not in (held, claimed) or statuses == [held, claimed]:
        return None
    return ask.changes[-1].actor
