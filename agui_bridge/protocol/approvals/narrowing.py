"""A rule as an agent narrowed it, and whether anybody is left who may answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import reduce

from agui_bridge.frozen import replace
from agui_bridge.protocol.threads.approval_rule import ROLE, ApprovalRule, Escalation

__all__ = ["escalated", "lacks_approvers", "narrowed", "strictest"]


def narrowed(
    rule: ApprovalRule | None, approvers: Sequence[str] | None, quorum: int | None
) -> ApprovalRule | None:
    """The rule of a question, as its agent narrowed it: it can never widen it.

    Args:
        rule: the organisation's; None: anyone of the scope, one is enough.
        approvers: whoever answers must be among these too; None leaves the rule as it is.
        quorum: as many must approve at least; None leaves the rule as it is.
    """
    if approvers is None and quorum is None:
        return rule
    whole = rule or ApprovalRule()
    within = whole.within if approvers is None else (*whole.within, tuple(approvers))
    return replace(whole, within=within, quorum=max(whole.quorum, quorum or 1))


def strictest(rules: Iterable[ApprovalRule | None]) -> ApprovalRule | None:
    """The rule of a question about several calls: what the rules of all of them want.

    Nothing is remembered by it, and nobody is let in by an escalation that only one of them has.

    Args:
        rules: those of the calls; None where a call has none.
    """
    wanted: list[ApprovalRule] = []
    for rule in rules:
        if rule is not None and rule not in wanted:
            wanted.append(rule)
    return reduce(_both, wanted) if wanted else None


def _both(one: ApprovalRule, other: ApprovalRule) -> ApprovalRule:
    named = [group for group in map(_may_answer, (one, other)) if group]
    each_of = tuple(dict.fromkeys((*one.each_of, *other.each_of)))
    steps = one.escalate
    if other.escalate != steps:
        let_in = [replace(step, approvers=()) for step in (*steps, *other.escalate)]
        steps = tuple(sorted(let_in, key=lambda step: step.after))
    return ApprovalRule(
        name=" and ".join(filter(None, (one.name, other.name))) or None,
        approvers=named[0] if named else (),
        quorum=max(one.quorum, other.quorum),
        each_of=each_of,
        self_approval=one.self_approval and other.self_approval,
        declines="all" if one.declines == other.declines == "all" else "one",
        notify=tuple(dict.fromkeys((*one.notify, *other.notify))),
        remind=tuple(sorted({*one.remind, *other.remind})),
        escalate=steps,
        # The groups of one rule let nobody answer whom the other leaves out.
        within=(*one.within, *other.within, *(named if each_of else named[1:])),
    )


def _may_answer(rule: ApprovalRule) -> tuple[str, ...]:
    """All whom the approvers and groups of a rule name; empty: anyone."""
    groups = (rule.approvers, *rule.each_of)
    return tuple(dict.fromkeys(name for group in groups for name in group))


def escalated(rule: ApprovalRule, step: Escalation) -> ApprovalRule:
    """A rule once a step of its escalation was taken: who is named there may answer, too.

    What an agent narrowed is the organisation's to widen.

    Args:
        rule: the question's.
        step: one of its escalation.
    """
    if not step.approvers:
        return rule

    def widened(group: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*group, *step.approvers)))

    return replace(
        rule,
        # Where nobody is named anyone may answer, and still may.
        approvers=widened(rule.approvers) if rule.approvers else (),
        each_of=tuple(widened(group) for group in rule.each_of),
        within=tuple(widened(group) for group in rule.within),
    )


def lacks_approvers(rule: ApprovalRule, askers: Collection[str] = ()) -> str | None:
    """Say why nobody could ever satisfy a rule; None where somebody may.

    A role may be anybody's, so that only rules which name people are found out.

    Args:
        rule: the rule.
        askers: who asked for the run.
    """
    named = _everybody(rule)
    if named is None:
        return None
    barred = set() if rule.self_approval else set(askers) & named
    left = named - barred
    if len(left) >= rule.votes:
        return None
    who = ", ".join(sorted(left)) or "nobody"
    why = f" ({', '.join(sorted(barred))} asked for the run)" if barred else ""
    return f"it wants the approval of {rule.votes}, and names {who}{why}"


def _everybody(rule: ApprovalRule) -> set[str] | None:
    """All whom a rule lets answer; None where that can't be known."""
    groups = [group for group in (rule.approvers, *rule.each_of) if group]
    found: set[str] | None = None
    if groups and not any(_has_role(group) for group in groups):
        found = {name for group in groups for name in group}
    for group in rule.within:
        if not _has_role(group):
            found = set(group) if found is None else found & set(group)
    return found


def _has_role(group: Collection[str]) -> bool:
    return any(name.startswith(ROLE) for name in group)
