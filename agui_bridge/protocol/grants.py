"""Remembered decisions: what somebody approved once, and need not be asked again."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, Final, Literal, TypeGuard

from agui_bridge.frozen import dataclass, replace
from agui_bridge.protocol.answers.decisions import is_cut
from agui_bridge.protocol.contract.transitions import moved
from agui_bridge.protocol.json_values import same_json
from agui_bridge.protocol.threads.approval_rule import ApprovalRule, Remember
from agui_bridge.protocol.threads.records import (
    Interrupt,
    InterruptStatus,
    Json,
    RecordedAnswer,
    ThreadKey,
)

# --- which arguments a remembered decision is about. Pure; whatever is unclear does not match ---

_ABSENT: Final = object()
_LIMITS: Final = ("max", "min")


def matches(
    approved: Mapping[str, Json], matchers: Mapping[str, Json], args: Mapping[str, Json]
) -> bool:
    """Whether arguments are among those that an approval was remembered for.

    What no matcher names must be the same, type by type. A matcher is:

    - `"exact"`: the same value; what a matcher around it would allow besides, it does not.
    - `"any"`: any value, or none.
    - `"prefix"`, or `{"prefix": text}`: a text that begins with the approved one, or with this, and
      has no `..` between slashes.
    - `"max"`, or `{"max": number}`: a number that is at most the approved one, or this.
    - `"min"`, or `{"min": number}`: a number that is at least the approved one, or this.
    - `{"min": number, "max": number}`: a number from one to the other.

    Args:
        approved: the arguments that somebody approved.
        matchers: by JSON pointer (RFC 6901), as `Remember.args` has them.
        args: those of the call in question.
    """
    rest_approved, rest = deepcopy(dict(approved)), deepcopy(dict(args))
    # The deepest first: what is taken out of a value is not there for what names the value.
    for pointer in sorted(matchers, key=lambda pointer: -pointer.count("/")):
        path = _path(pointer)
        if path is None or not is_matcher(matchers[pointer]):
            return False
        if not path:
            return matchers[pointer] == "any" or same_json(rest_approved, rest)
        if not _fits(matchers[pointer], _take(rest_approved, path), _take(rest, path)):
            return False
    return same_json(rest_approved, rest)


def is_matcher(matcher: object) -> bool:
    """Whether `matches` knows a matcher."""
    if isinstance(matcher, str):
        return matcher in ("exact", "any", "prefix", *_LIMITS)
    if not isinstance(matcher, Mapping) or not matcher:
        return False
    if "prefix" in matcher:
        return len(matcher) == 1 and isinstance(matcher["prefix"], str)
    return all(kind in _LIMITS and _is_number(bound) for kind, bound in matcher.items())


def _fits(matcher: Any, approved: object, value: object) -> bool:
    if matcher == "any":
        return True
    bounds = {matcher: approved} if isinstance(matcher, str) else matcher
    return all(_is_within(kind, bound, value) for kind, bound in bounds.items())


def _is_within(kind: str, bound: object, value: object) -> bool:
    if value is _ABSENT or bound is _ABSENT:
        return value is bound
    if kind == "exact":
        return same_json(bound, value)
    if kind == "prefix":
        text = isinstance(value, str) and isinstance(bound, str)
        return text and str(value).startswith(str(bound)) and ".." not in _steps(str(value))
    if not _is_number(value) or not _is_number(bound):
        return False
    return value <= bound if kind == "max" else value >= bound


def _steps(text: str) -> list[str]:
    return text.replace("\\", "/").split("/")


def _is_number(value: object) -> TypeGuard[int | float]:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _path(pointer: str) -> list[str] | None:
    """The steps of a JSON pointer; None where it is none."""
    if not pointer:
        return []
    if not pointer.startswith("/"):
        return None
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]


def _take(value: Any, path: list[str]) -> object:
    """Take a member out of an object, wherever it lies; lists keep the length that they have."""
    *way, last = path
    for step in way:
        value = _member(value, step)
    found = _member(value, last)
    if found is _ABSENT:
        return _ABSENT
    if isinstance(value, dict):
        del value[last]
    else:
        value[int(last)] = None
    return found


def _member(value: Any, step: str) -> Any:
    if isinstance(value, dict):
        return value.get(step, _ABSENT)
    if isinstance(value, list) and step.isascii() and step.isdigit() and str(int(step)) == step:
        return value[int(step)] if int(step) < len(value) else _ABSENT
    return _ABSENT


Holder = Literal["thread", "actor", "scope"]


@dataclass(frozen=True, slots=True)
class Grant:
    """A remembered decision. It only ever turns a question into an approval.

    Attributes:
        id: 128 random bits, URL-safe: that of the question whose answer made it.
        scope: whose questions it answers.
        agent: of this agent.
        tool: about this tool.
        rule: name of the approval rule that offered it; a question of another is not answered.
        holder: for whom: one thread, one asker, or the whole scope.
        held_by: id of the thread, or name of the asker; empty for the scope.
        args: those that were approved.
        matchers: how others may differ from them, by JSON pointer; see `matching.matches`.
        granted_by: the actor who approved.
        created_at: store time (seconds).
        expires_at: store time from which it is over.
        max_uses: how often it may be used; None: any number of times.
        uses: how often it was.
        revoked_at: store time; None while it stands.
        revoked_by: the actor who did it.
    """

    id: str
    scope: str
    agent: str
    tool: str
    rule: str | None
    holder: Holder
    held_by: str
    args: Mapping[str, Json]
    matchers: Mapping[str, Json]
    granted_by: str
    created_at: float
    expires_at: float
    max_uses: int | None = None
    uses: int = 0
    revoked_at: float | None = None
    revoked_by: str | None = None

    @property
    def covers(self) -> str:
        """How far the arguments of other calls may differ, in words."""
        return covered_arguments(self.args, self.matchers)

    @property
    def actor(self) -> str:
        """What the history calls it."""
        return f"rule:{self.id}"

    def stands(self, now: float) -> bool:
        """Whether it may be used at a store time."""
        return self.revoked_at is None and now < self.expires_at and not self._is_used_up

    def was_over(self, at: float) -> bool:
        """Whether it was over at a store time; one that is used up, whether it was made by then."""
        revoked = self.revoked_at is not None and self.revoked_at <= at
        return revoked or self.expires_at <= at or (self._is_used_up and self.created_at <= at)

    @property
    def _is_used_up(self) -> bool:
        return self.max_uses is not None and self.uses >= self.max_uses


# --- what a remembered decision covers, in words ---
#
# Which arguments, for whom, how long, how often.

_NOTHING: Final = "no call at all: its rule has a matcher that there is not"
_SPANS: Final = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def covered_arguments(args: Mapping[str, Json], matchers: Mapping[str, Any]) -> str:
    """How far the arguments of other calls may differ; `matching.matches` as words.

    Args:
        args: those that are approved.
        matchers: by JSON pointer.
    """
    if not all(
        pointer[:1] in ("", "/") and is_matcher(matcher) for pointer, matcher in matchers.items()
    ):
        return _NOTHING
    if "" in matchers:
        others = [pointer for pointer in matchers if pointer]
        if matchers[""] == "any":
            return "any arguments" if not others else _told(args, matchers, "anything else")
        return _told(args, {pointer: matchers[pointer] for pointer in others}, "all else the same")
    return _told(args, matchers, "all else the same") if matchers else "the same arguments"


def lasting(seconds: float) -> str:
    """A time in words: `8 hours`, `1 day and 12 hours`.

    Args:
        seconds: how long.
    """
    parts, rest = [], round(seconds)
    for length, name in _SPANS:
        many, rest = divmod(rest, length)
        if many:
            parts.append(f"{many} {name}{'' if many == 1 else 's'}")
    return " and ".join(parts[:2]) or "less than a second"


def times(most: int | None) -> str:
    """How often, in words.

    Args:
        most: None: any number of times.
    """
    if most is None:
        return "any number of times"
    return "once" if most == 1 else f"{most} times at most"


def _told(args: Mapping[str, Json], matchers: Mapping[str, Any], else_: str) -> str:
    told = [f"{_named(at)} {_allowed(matchers[at], _at(args, at))}" for at in sorted(matchers)]
    return "; ".join([*filter(None, told), else_]) if told else "the same arguments"


def _named(pointer: str) -> str:
    """A pointer as people read it: `to.iban`."""
    steps = pointer[1:].split("/")
    return ".".join(step.replace("~1", "/").replace("~0", "~") or '""' for step in steps)


def _allowed(matcher: Any, approved: Json) -> str:
    if matcher == "any":
        return "anything, or left out"
    if matcher == "exact":
        return "the same"
    if isinstance(matcher, str):
        matcher = {matcher: approved}
        if not is_matcher(matcher):
            return "left out" if approved is None else "no value"
    if "prefix" in matcher:
        begin = json.dumps(matcher["prefix"], ensure_ascii=False)
        return f"any text that begins with {begin}"
    low, high = matcher.get("min"), matcher.get("max")
    if high is None:
        return f"any number from {low} up, however large"
    return f"any number up to {high}, negative ones too" if low is None else f"from {low} to {high}"


def _at(args: Mapping[str, Json], pointer: str) -> Json:
    """What was approved at a pointer; None where there is nothing."""
    value: Any = args
    for step in pointer[1:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping):
            value = value.get(name)
        elif isinstance(value, list | tuple) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value


# --- when a decision may be remembered, what is remembered, and which questions it answers ---

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
    member = {**_remembered_member(offers), "description": told}
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
    if rule is None or ask.tool_call is None or not _one_may_decide(rule) or is_cut(ask):
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
        **_remembered_member(offers),
        "description": "",
    }:
        return None
    return offers.get(chosen) if isinstance(chosen, str) else None


def _remembered_member(offers: Mapping[str, Remember]) -> dict[str, Json]:
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
