"""Who may answer a question, and how many must: what an organisation says of it.

`approvals.entitlement` reads a rule, `approvals.voting` counts by it. Where nothing else is said,
whoever may use the scope may answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from agui_bridge.errors import AgentMistake
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

__all__ = ["ROLE", "ApprovalRule", "Escalation", "Remember", "is_approver"]

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
