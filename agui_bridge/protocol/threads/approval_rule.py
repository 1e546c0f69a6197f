"""Who may answer a question, and how many must: what an organisation says of it.

`protocol.approvals` reads a rule and counts by it. Where nothing else is said,
whoever may use the scope may answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Final, Literal, get_args

from agui_bridge.errors import AgentMistake
from agui_bridge.frozen import replace
from agui_bridge.protocol.field_rules import (
    COUNT,
    NAME,
    OBJECT,
    SECONDS,
    TEXT,
    FieldRule,
    check_fields,
    is_a,
    sequence_of,
)

ROLE: Final = "role:"
"""What an approver begins with that is a role; any other is an actor."""

Holder = Literal["thread", "actor", "scope"]


@dataclass(frozen=True, slots=True)
class Escalation:
    """What happens when nobody has answered for a while.

    Attributes:
        after: seconds since the question was asked.
        approvers: who may answer from then on, too.
        notify: names of channels that are told.
        extend: seconds by which the question's expiry moves, to a hundred years from now at most;
            0 leaves it.

    Raises:
        AgentMistake: a field is of another type; it names the field.
    """

    after: float
    approvers: tuple[str, ...] = ()
    notify: tuple[str, ...] = ()
    extend: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self, _ESCALATION, error=AgentMistake)
        for name in ("approvers", "notify"):
            object.__setattr__(self, name, tuple(getattr(self, name)))


@dataclass(frozen=True, slots=True)
class Remember:
    """A decision that may be remembered, so that the same is not asked again.

    Attributes:
        holder: for whom: the thread, whoever asked, or the scope.
        args: which arguments count as the same, by JSON pointer; None: exactly these.
        expires_in: seconds that it is remembered; None takes the default.
        max_uses: how often it may be used; None: any number of times.

    Raises:
        AgentMistake: a field is of another type; it names the field.
    """

    holder: Holder
    args: Mapping[str, Any] | None = None
    expires_in: float | None = None
    max_uses: int | None = None

    def __post_init__(self) -> None:
        check_fields(self, _REMEMBER, error=AgentMistake)


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """Who may answer a question, how many must, and who is told.

    Approvers are actors, or roles as `role:NAME`. Names count for one person in every scope that
    reviews another's.

    Attributes:
        name: what the history calls it.
        approvers: who may answer; empty: anyone of the scope.
        quorum: how many different people must approve, with the same arguments.
        each_of: groups of approvers; somebody else of each must be among them.
        self_approval: whether whoever asked for the run may answer.
        declines: whether a decline of one closes the question, or only as many as must approve.
        notify: names of the channels that are told.
        remind: seconds after which they are told again.
        escalate: what happens when nobody answers.
        remember: decisions that may be remembered.
        within: groups that whoever answers must be in, every one: what an agent narrowed it to.

    Raises:
        AgentMistake: nobody could ever satisfy it, or a field is of another type; it names it.
    """

    name: str | None = None
    approvers: tuple[str, ...] = ()
    quorum: int = 1
    each_of: tuple[tuple[str, ...], ...] = ()
    self_approval: bool = True
    declines: Literal["one", "all"] = "one"
    notify: tuple[str, ...] = ()
    remind: tuple[float, ...] = ()
    escalate: tuple[Escalation, ...] = ()
    remember: tuple[Remember, ...] = ()
    within: tuple[tuple[str, ...], ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        check_fields(self, _RULE, error=AgentMistake)
        for name in ("approvers", "notify", "remind", "escalate", "remember"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in ("each_of", "within"):
            object.__setattr__(self, name, tuple(map(tuple, getattr(self, name))))

    @property
    def votes(self) -> int:
        """How many different people must approve."""
        return max(self.quorum, len(self.each_of))


def is_approver(value: object) -> bool:
    """Whether a value can be an approver: an actor, or a role as `role:NAME`.

    Args:
        value: of any kind.
    """
    return isinstance(value, str) and value not in ("", ROLE)


_HOLDERS: Final = get_args(Holder)
_APPROVERS: Final = sequence_of("a list of actors and role:NAME", is_approver)
_GROUP: Final = sequence_of("a list of actors and role:NAME, not empty", is_approver, least=1)
_GROUPS: Final = sequence_of(f"a list of groups, each {_GROUP.words},", _GROUP.fits)
_CHANNELS: Final = sequence_of("a list of names of channels", NAME.fits)
_ESCALATION: Final[Mapping[str, FieldRule]] = {
    "after": SECONDS,
    "approvers": _APPROVERS,
    "notify": _CHANNELS,
    "extend": SECONDS,
}
_REMEMBER: Final[Mapping[str, FieldRule]] = {
    "holder": FieldRule(f"one of {', '.join(map(repr, _HOLDERS))}", _HOLDERS.__contains__),
    "args": OBJECT.or_none(),
    "expires_in": SECONDS.or_none(),
    "max_uses": COUNT.or_none(),
}
_RULE: Final[Mapping[str, FieldRule]] = {
    "name": TEXT.or_none(),
    "approvers": _APPROVERS,
    "quorum": COUNT,
    "each_of": _GROUPS,
    "self_approval": FieldRule("True or False", is_a(bool)),
    "declines": FieldRule('"one" or "all"', ("one", "all").__contains__),
    "notify": _CHANNELS,
    "remind": sequence_of("a list of seconds", SECONDS.fits),
    "escalate": sequence_of("a list of Escalation", is_a(Escalation)),
    "remember": sequence_of("a list of Remember", is_a(Remember)),
    "within": _GROUPS,
}


# --- a rule as an agent narrowed it, and whether anybody is left who may answer ---


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
