"""What clients send: approvals, edits, refusals, near misses, repetitions, nonsense."""

from __future__ import annotations

from hypothesis import strategies as st

from agui_bridge.protocol.answers.decisions import DECLINE, RESPOND
from agui_bridge.protocol.contract.requests import Entry
from agui_bridge.protocol.threads.approval_rule import ApprovalRule
from agui_bridge.protocol.threads.records import Interrupt, Json, Principal, RecordedAnswer
from tests.model.operations import Action, AskKind, Fate, Pause, Plan

__all__ = [
    "NEAR_MISSES",
    "PEOPLE",
    "RULES",
    "STYLES",
    "answer_to",
    "asks",
    "fates",
    "people",
    "plans",
    "sleeps",
    "styles",
    "with_another_type",
]

NEAR_MISSES: tuple[Json, ...] = (
    None, True, 1, "yes", "true", [], {}, {"approved": "true"}, {"approved": "false"},
    {"approved": 1}, {"approved": 0}, {"approved": None}, {"approved": {}}, {"confirm": True},
    {"Approved": True}, {"approved": True, "editedArgs": {"n": "1"}},
    {"approved": True, "editedArgs": {}}, {"approved": True, "editedArgs": None},
    {"approved": True, "reason": 1}, {"approved": True, "respond": "by hand"},
    {"approved": False, "respond": 1}, {"approved": False, "respond": ["by hand"]},
)  # fmt: skip
"""Payloads that look like approvals and are none, whatever the ask allows."""

STYLES = ("approve", "edit", "decline", "cancel", "near miss")
"""How a client answers."""

styles = st.sampled_from(("approve",) * 6 + STYLES)
fates = st.sampled_from((Fate.DELIVERED,) * 6 + (Fate.LOST, Fate.UNACKNOWLEDGED))

PEOPLE = (
    Principal("scope", "ann"),
    Principal("scope", "bob"),
    Principal("scope", "cy", frozenset({"dba"})),
)
"""Who is there. Each may be the one who asks."""

RULES = (
    None,
    ApprovalRule(self_approval=False),
    ApprovalRule(approvers=("bob",)),
    ApprovalRule(quorum=2),
    ApprovalRule(quorum=2, self_approval=False, declines="all"),
    ApprovalRule(each_of=(("bob", "ann"), ("role:dba",))),
)
"""What questions may ask of those who answer."""

people = st.sampled_from(PEOPLE)

asks = st.builds(
    AskKind,
    tool=st.sampled_from((True, True, True, False)),
    offers_more=st.booleans(),
    expires_in=st.sampled_from((None, None, 5.0, 15.0, 40.0)),
    rule=st.sampled_from((None,) * 5 + RULES),
)
sleeps = st.builds(
    lambda seconds: [AskKind(tool=False, expires_in=seconds, sleeps=True)],
    st.sampled_from((5.0, 5.0, 15.0, 40.0)),
)
_pauses: st.SearchStrategy[Plan] = st.one_of(
    st.lists(asks, min_size=1, max_size=3), st.lists(asks, min_size=1, max_size=3), sleeps
).map(lambda kinds: Pause(tuple(kinds)))
_actions: st.SearchStrategy[Plan] = st.sampled_from(
    (Action.EXECUTE,) * 4 + (Action.FLUSH, Action.FINISH) + tuple(Action)
)
_EXECUTE, _FLUSH = Action.EXECUTE, Action.FLUSH
_starts = st.sampled_from(
    (
        [],
        [_EXECUTE],
        [_EXECUTE],
        [_EXECUTE, _EXECUTE],
        [_EXECUTE, _FLUSH],
        [Action.NOTICE],
        [Action.NOTICE, Action.FINISH],
        [Action.UNDELIVERED],
    )
)
plans: st.SearchStrategy[list[Plan]] = st.builds(
    lambda start, rest: [*start, *rest],
    _starts,
    st.lists(st.one_of(_actions, _pauses), max_size=3),
)
"""What an agent does next, in order."""


def answer_to(ask: Interrupt, style: str, variant: int) -> Entry:
    """Answer an interrupt in a style; `variant` tells answers of one style apart."""
    if style == "cancel":
        return Entry(ask.id, RecordedAnswer("cancelled"))
    return Entry(ask.id, RecordedAnswer("resolved", _payload(ask, style, variant)))


def with_another_type(entry: Entry) -> Entry:
    """Write the number 1 in a payload as true: equal to Python, another answer to JSON."""
    payload = entry.answer.payload
    if not isinstance(payload, dict) or "note" not in payload:
        return entry
    return Entry(entry.interrupt_id, RecordedAnswer("resolved", {**payload, "note": True}))


def _payload(ask: Interrupt, style: str, variant: int) -> Json:
    if ask.is_timer:
        return NEAR_MISSES[variant % 5] if style == "near miss" else {}
    if ask.tool_call is None:
        valid: Json = "ab"[variant % 2] if variant % 3 else ""
        if style == "decline" and DECLINE in ask.allowed:
            valid = {"declined": True, "reason": "no"}
        return valid if style in ("approve", "edit", "decline") else NEAR_MISSES[variant % 5]
    match style:
        case "approve":
            return {"approved": True} if variant % 2 else {"approved": True, "note": 1}
        case "edit":
            return {"approved": True, "editedArgs": {"n": variant}}
        case "decline" if RESPOND in ask.allowed and variant % 2:
            return {"approved": False, "respond": f"by hand {variant}"}
        case "decline":
            return {"approved": False, "reason": "no"}
        case _:
            return NEAR_MISSES[variant % len(NEAR_MISSES)]
