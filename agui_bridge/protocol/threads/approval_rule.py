"""Who may answer a question, and how many must: what an organisation says of it.

`approvals.entitlement` reads a rule, `approvals.voting` counts by it. Where nothing else is said,
whoever may use the scope may answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from agui_bridge.errors import AgentMistake

__all__ = ["ROLE", "ApprovalRule", "Escalation", "Remember"]

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
    """

    after: float
    approvers: tuple[str, ...] = ()
    notify: tuple[str, ...] = ()
    extend: float = 0.0


@dataclass(frozen=True, slots=True)
class Remember:
    """A decision that may be remembered, so that the same is not asked again.

    Attributes:
        holder: for whom: the thread, whoever asked, or the scope.
        args: which arguments count as the same, by JSON pointer; None: exactly these.
        expires_in: seconds that it is remembered; None takes the default.
        max_uses: how often it may be used; None: any number of times.
    """

    holder: Holder
    args: Mapping[str, Any] | None = None
    expires_in: float | None = None
    max_uses: int | None = None


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
        for name in ("approvers", "each_of", "notify", "remind", "escalate", "remember", "within"):
            value = getattr(self, name)
            if isinstance(value, str) or not isinstance(value, tuple | list):
                raise AgentMistake(f"ApprovalRule.{name} must be a list, not {value!r:.80}.")
            if name in ("each_of", "within"):
                value = tuple(_names(group, name) for group in value)
                if not all(value):
                    raise AgentMistake(f"ApprovalRule.{name} has a group with nobody in it.")
            object.__setattr__(self, name, tuple(value))
        _names(self.approvers, "approvers")
        if type(self.quorum) is not int or self.quorum < 1:
            raise AgentMistake(f"ApprovalRule.quorum must be 1 or more, not {self.quorum!r:.80}.")
        if not isinstance(self.self_approval, bool):
            raise AgentMistake("ApprovalRule.self_approval must be True or False.")
        if self.declines not in ("one", "all"):
            raise AgentMistake('ApprovalRule.declines must be "one" or "all".')

    @property
    def votes(self) -> int:
        """How many different people must approve."""
        return max(self.quorum, len(self.each_of))


def _names(group: object, field_name: str) -> tuple[str, ...]:
    if isinstance(group, str) or not isinstance(group, tuple | list):
        raise AgentMistake(f"ApprovalRule.{field_name} must hold lists, not {group!r:.80}.")
    for name in group:
        if not isinstance(name, str) or not name or name == ROLE:
            raise AgentMistake(
                f"ApprovalRule.{field_name} must name actors or {ROLE}NAME, not {name!r:.80}."
            )
    return tuple(group)
