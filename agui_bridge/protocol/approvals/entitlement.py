"""Who may answer a question, by its rule, and who may take it back.

Source: docs/contract.md, row 15a, A12, A13 and S18.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.threads.approval_rule import ROLE, ApprovalRule
from agui_bridge.protocol.threads.records import Interrupt, Principal

__all__ = ["Refusal", "is_one_of", "may_withdraw", "why_not", "why_not_stop", "wording"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why somebody may not answer a question.

    Attributes:
        code: of the table in `errors`.
        message: for people: why, and who may.
    """

    code: Literal["NOT_AN_APPROVER", "SELF_APPROVAL"]
    message: str


def why_not(ask: Interrupt, principal: Principal) -> Refusal | None:
    """Say why somebody may not answer a question; None where they may.

    Whoever asked for the run may withdraw it all the same; see `may_withdraw`.

    Args:
        ask: the question.
        principal: who would answer it; that its scope is theirs to see is known already.
    """
    rule = ask.rule
    if rule is None:
        return None
    if not rule.self_approval and ask.was_asked_by(principal.actor):
        return Refusal(
            "SELF_APPROVAL",
            f"{principal.actor} asked for this, and may not answer it; {wording(ask)} may. "
            "Whoever asked may cancel it.",
        )
    if not _may_answer(rule, principal.actor, principal.roles):
        return Refusal("NOT_AN_APPROVER", f"Only {wording(ask)} may answer this.")
    return None


def may_withdraw(ask: Interrupt, principal: Principal) -> bool:
    """Whether somebody may cancel a question even where they may not answer it.

    Args:
        ask: the question.
        principal: who would cancel it.
    """
    return ask.was_asked_by(principal.actor)


def why_not_stop(asks: Iterable[Interrupt], principal: Principal, now: float) -> Refusal | None:
    """Say why somebody may not stop a thread that waits with questions; None where they may.

    To stop it withdraws every question that has not expired, and the answers that are held.

    Args:
        asks: the questions of the pause.
        principal: who would stop it; that its scope is theirs to see is known already.
        now: the store's time.
    """
    for ask in asks:
        if ask.expired(now) or may_withdraw(ask, principal) or why_not(ask, principal) is None:
            continue
        return Refusal(
            "NOT_AN_APPROVER",
            "The thread waits for an answer, and this would withdraw its question; only "
            f"{wording(ask)} may, or whoever asked for it.",
        )
    return None


def is_one_of(group: Iterable[str], actor: str, roles: Collection[str]) -> bool:
    """Whether somebody is among approvers.

    Args:
        group: actors, and roles as `role:NAME`.
        actor: their name.
        roles: their roles.
    """
    return any(
        name[len(ROLE) :] in roles if name.startswith(ROLE) else name == actor for name in group
    )


def wording(ask: Interrupt) -> str:
    """Who may answer a question, in words.

    Args:
        ask: the question.
    """
    rule = ask.rule or ApprovalRule()
    barred = () if rule.self_approval else (ask.asked_by, *ask.joined_by)
    groups = [(*rule.approvers, *(name for group in rule.each_of for name in group)), *rule.within]
    said = [
        ", ".join(dict.fromkeys(name for name in group if name not in barred))
        for group in groups
        if group
    ]
    anyone = "anyone else" if barred else "anyone"
    return " who is one of ".join(said if groups[0] else [anyone, *said])


def _may_answer(rule: ApprovalRule, actor: str, roles: Collection[str]) -> bool:
    groups = [group for group in (rule.approvers, *rule.each_of) if group]
    named = not groups or any(is_one_of(group, actor, roles) for group in groups)
    return named and all(is_one_of(group, actor, roles) for group in rule.within)
