"""The admission table, where it depends on who answers: rules, withdrawals, votes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE, EDIT, approval_schema
from agui_bridge.protocol.approvals import args_digest
from agui_bridge.protocol.contract.requests import (
    AskAgain,
    AutoResume,
    Entry,
    Hold,
    Join,
    Replay,
    Request,
    Resume,
)
from agui_bridge.protocol.threads.approval_rule import ApprovalRule
from agui_bridge.protocol.threads.records import Interrupt, Principal, Vote
from tests.protocol.contract.admission_before import Case, by, not_by
from tests.protocol.loaded_threads import (
    ANSWERED,
    CLAIMED,
    NOW,
    RESOLVED,
    ask,
    idle,
    interrupted,
    no,
    receipt,
    running,
    yes,
)

__all__ = ["BY_WHOM", "COVERING", "edited", "ruled", "sent", "voted"]

DBA: Final = frozenset({"dba"})
FOUR_EYES: Final = ApprovalRule(self_approval=False)
BOB: Final = ApprovalRule(approvers=("bob",))
TWO: Final = ApprovalRule(quorum=2)
EACH: Final = ApprovalRule(each_of=(("role:dba",), ("role:law",)))


def sent(actor: str, *entries: Entry, roles: frozenset[str] = frozenset(), **more: Any) -> Request:
    return Request(entries, principal=Principal(actor=actor, roles=roles), **more)


def ruled(id: str, rule: ApprovalRule, *votes: Vote, by: str = "ann", **fields: Any) -> Interrupt:
    """A question of a run that ann asked for; edits are allowed."""
    made = replace(ask(id, **fields), rule=rule, asked_by=by, votes=votes)
    if made.tool_call is None:
        return made
    schema = approval_schema(None, editable=True)
    return replace(made, response_schema=schema, allowed=(APPROVE, DECLINE, EDIT))


def edited(id: str, n: int) -> Entry:
    return yes(id, {"approved": True, "editedArgs": {"n": n}})


def voted(actor: str, entry: Entry, *roles: str) -> Vote:
    digest = args_digest(ruled(entry.interrupt_id, TWO), entry.answer)
    return Vote(actor, frozenset(roles), entry.answer, digest, NOW - 1)


NAY: Final = yes("a", {"approved": False})
SAID: Final = ask(
    "b", ANSWERED, tool=False, schema={"type": "string"}, answer=yes("b", "said before")
)
CONFIRM: Final = {"type": "object", "properties": {"confirm": {"type": "boolean"}}}
UNDERSTOOD: Final = AutoResume((yes("q", {"confirm": True}),), follows_ask=True)
QUESTION: Final = ruled("q", BOB, tool=False, schema=CONFIRM)
LATE: Final = NOW - 1

BY_WHOM: Final[Mapping[str, tuple[Case, ...]]] = {
    "15a": (
        by("who is no approver", interrupted(ruled("a", BOB)), sent("eve", yes("a")),
           "NOT_AN_APPROVER"),
        by("nor declines", interrupted(ruled("a", BOB)), sent("eve", NAY), "NOT_AN_APPROVER"),
        by("nor cancels", interrupted(ruled("a", BOB)), sent("eve", no("a")), "NOT_AN_APPROVER"),
        by("whoever asked, where that bars them", interrupted(ruled("a", FOUR_EYES)),
           sent("ann", yes("a")), "SELF_APPROVAL"),
        by("nor declines", interrupted(ruled("a", FOUR_EYES)), sent("ann", NAY), "SELF_APPROVAL"),
        by("one such entry refuses all", interrupted(ruled("a", BOB), ask("b")),
           sent("eve", yes("b"), yes("a")), "NOT_AN_APPROVER"),
        by("also singly", interrupted(ruled("a", BOB), ask("b")),
           sent("eve", yes("a"), answers_singly=True), "NOT_AN_APPROVER"),
        not_by("an approver answers", interrupted(ruled("a", BOB)), sent("bob", yes("a")), Resume),
        not_by("whoever asked withdraws", interrupted(ruled("a", BOB)), sent("ann", no("a")),
               Resume),
        not_by("also where they are barred", interrupted(ruled("a", FOUR_EYES)),
               sent("ann", no("a")), Resume),
        not_by("also with votes there", interrupted(ruled("a", TWO, voted("bob", yes("a")))),
               sent("ann", no("a")), Resume),
        not_by("the held answer told again by anybody changes nothing",
               interrupted(ruled("a", BOB, status=ANSWERED, answer=yes("a")), ask("b")),
               sent("eve", yes("a"), yes("b")), Resume),
        not_by("what expired is cancelled by anybody",
               interrupted(ruled("a", BOB, expires_at=LATE), ask("b")),
               sent("eve", no("a"), yes("b")), Resume),
        not_by("a wrong payload is told first", interrupted(ruled("a", BOB)),
               sent("eve", yes("a", 1)), "INVALID_RESUME_PAYLOAD"),
        not_by("a message of somebody else is no answer",
               interrupted(QUESTION), sent("eve", auto_resume=UNDERSTOOD), AskAgain),
        not_by("one of an approver is", interrupted(QUESTION), sent("bob", auto_resume=UNDERSTOOD),
               Resume),
    ),
    "15b": (
        by("the same vote again is a replay", interrupted(ruled("a", TWO, voted("bob", yes("a")))),
           sent("bob", yes("a")), Replay),
        by("also where its voter is no approver any more",
           interrupted(ruled("a", replace(TWO, approvers=("role:dba",)), voted("bob", yes("a")))),
           sent("bob", yes("a"), roles=DBA), Replay),
        not_by("another vote of theirs is none",
               interrupted(ruled("a", TWO, voted("bob", yes("a")))), sent("bob", edited("a", 2)),
               Hold),
        not_by("nor the same vote of somebody else",
               interrupted(ruled("a", TWO, voted("bob", yes("a")))), sent("cy", yes("a")), Resume),
        not_by("it settles what needs no more than it by now",
               interrupted(ruled("a", replace(EACH, each_of=(("bob",),)), voted("bob", yes("a")))),
               sent("bob", yes("a")), Resume),
    ),
    "17b": (
        by("the first of two votes waits", interrupted(ruled("a", TWO)), sent("bob", yes("a")),
           Hold),
        by("beside others' questions", interrupted(ruled("a", TWO), ruled("b", BOB)),
           sent("ann", yes("a")), Hold),
        by("an edit counts alone", interrupted(ruled("a", TWO, voted("bob", yes("a")))),
           sent("cy", edited("a", 2)), Hold),
        by("so does an approval that was given before somebody's edit",
           interrupted(ruled("a", TWO, voted("bob", edited("a", 2)))), sent("cy", yes("a")), Hold),
        by("two of one group are not one of each",
           interrupted(ruled("a", EACH, voted("bob", yes("a"), "dba"))),
           sent("cy", yes("a"), roles=DBA), Hold),
        by("one person is not two", interrupted(ruled("a", EACH)),
           sent("bob", yes("a"), roles=DBA | {"law"}), Hold),
        by("a decline counts as a vote where all must",
           interrupted(ruled("a", replace(TWO, declines="all"), voted("bob", yes("a")))),
           sent("cy", NAY), Hold),
        not_by("the second of two is enough",
               interrupted(ruled("a", TWO, voted("bob", yes("a")))), sent("cy", yes("a")), Resume),
        not_by("so is the same edit", interrupted(ruled("a", TWO, voted("bob", edited("a", 2)))),
               sent("cy", edited("a", 2)), Resume),
        not_by("an edit to what was proposed is none",
               interrupted(ruled("a", TWO, voted("bob", yes("a")))), sent("cy", edited("a", 1)),
               Resume),
        not_by("a decline closes", interrupted(ruled("a", TWO, voted("bob", yes("a")))),
               sent("cy", NAY), Resume),
        not_by("one of each is enough",
               interrupted(ruled("a", EACH, voted("bob", yes("a"), "dba"))),
               sent("cy", yes("a"), roles=DBA | {"law"}), Resume),
        not_by("a question without a rule needs one", interrupted(ask("a")), sent("x", yes("a")),
               Resume),
    ),
}  # fmt: skip
"""Rows that were added for approval rules; the others' cases know nobody by name."""

COVERING: Final[Mapping[str, tuple[Case, ...]]] = {
    "1": (
        by("a vote that was part of what is carried out joins",
           running(ruled("a", TWO, voted("bob", edited("a", 1)), voted("cy", yes("a")),
                         status=CLAIMED, answer=yes("a"))),
           sent("bob", edited("a", 1)), Join),
    ),
    "4": (
        by("a vote that was part of what was done is told again",
           idle(ruled("a", TWO, voted("bob", edited("a", 1)), voted("cy", yes("a")),
                      status=RESOLVED, batch="old", answer=yes("a")),
                old=receipt("finished", yes("a"))),
           sent("bob", edited("a", 1)), Replay),
        not_by("what somebody else voted is not",
               idle(ruled("a", TWO, voted("bob", edited("a", 1)), voted("cy", yes("a")),
                          status=RESOLVED, batch="old", answer=yes("a")),
                    old=receipt("finished", yes("a"))),
               sent("eve", edited("a", 1)), "INTERRUPT_ALREADY_ANSWERED"),
    ),
    "11": (
        by("a message may be a vote", interrupted(replace(QUESTION, rule=TWO)),
           sent("bob", auto_resume=UNDERSTOOD), Hold),
        by("by whom one may be answered, whoever may have answered the others",
           interrupted(replace(QUESTION, rule=None), replace(SAID, rule=BOB)),
           sent("eve", auto_resume=UNDERSTOOD), Resume),
        by("others are told who may", interrupted(replace(QUESTION, rule=BOB), SAID),
               sent("eve", auto_resume=UNDERSTOOD), AskAgain),
    ),
    "16": (
        by("what they may answer too is named", interrupted(ruled("a", BOB), ask("b")),
           sent("bob", yes("a")), "INTERRUPT_NOT_COVERED"),
        not_by("what is others' is not", interrupted(ruled("a", BOB), ask("b")),
               sent("eve", yes("b")), Hold),
        not_by("nor what they have voted on",
               interrupted(ruled("a", TWO, voted("bob", yes("a"))), ask("b")),
               sent("bob", yes("b")), Hold),
    ),
    "17": (
        by("an answer beside others' questions is held", interrupted(ruled("a", BOB), ask("b")),
           sent("eve", yes("b")), Hold),
        by("a withdrawal of one of two is held",
           interrupted(ruled("a", FOUR_EYES), ruled("b", FOUR_EYES)), sent("ann", no("a")), Hold),
        not_by("the last one resumes",
               interrupted(ruled("a", BOB), ask("b", ANSWERED, answer=yes("b"))),
               sent("bob", yes("a")), Resume),
    ),
}  # fmt: skip
"""Rows of old that ask who answers, too."""
