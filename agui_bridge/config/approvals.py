"""The `approvals` of a configuration file: who may answer which questions."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from agui_bridge.approvals import Match
from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.answers.asks import LONGEST_WAIT
from agui_bridge.protocol.approvals.narrowing import lacks_approvers
from agui_bridge.protocol.threads.approval_rule import ApprovalRule, Escalation, Remember
from agui_bridge.yaml_files.sections import Section
from agui_bridge.yaml_files.variables import read_filled

__all__ = ["ApprovalEntry"]

Name = Annotated[str, Field(min_length=1)]
Names = Annotated[list[Name], Field(min_length=1)]
Seconds = Annotated[float, Field(gt=0)]


class MatchSection(Section):
    """Which questions a rule is for: those that fit all that is given. Patterns as in shells."""

    agent: str | None = Field(None, min_length=1, description="The agent's name, or a pattern.")
    tool: str | None = Field(
        None, min_length=1, description="The tool's name, or a pattern such as `delete_*`."
    )
    reason: str | None = Field(None, min_length=1, description="The question's reason.")


class EscalationSection(Section):
    """What happens when nobody has answered for a while."""

    after: Seconds = Field(description="Seconds since the question was asked.")
    approvers: list[Name] = Field(
        default_factory=list, description="Who may answer from then on, too."
    )
    notify: list[Name] = Field(default_factory=list, description="Channels that are told.")
    extend: float = Field(
        0.0, ge=0, le=LONGEST_WAIT, description="Seconds by which the expiry moves."
    )


class RememberSection(Section):
    """A decision that may be remembered."""

    holder: Literal["thread", "actor", "scope"] = Field(description="For whom.")
    args: dict[str, Any] | None = Field(
        None, description="Which arguments count as the same; by default exactly these."
    )
    expires_in: Seconds | None = Field(None, description="Seconds that it is remembered.")
    max_uses: int | None = Field(None, ge=1, description="How often it may be used.")


class ApprovalEntry(Section):
    """Who may answer some questions, how many must, and who is told.

    Approvers are actors, or roles as `role:NAME`.
    """

    name: str | None = Field(None, min_length=1, description="What the history calls it.")
    match: MatchSection = Field(
        default_factory=MatchSection, description="Which questions it is for; by default all."
    )
    approvers: list[Name] = Field(
        default_factory=list, description="Who may answer; by default anyone of the scope."
    )
    quorum: Annotated[int, BeforeValidator(read_filled)] = Field(
        1, ge=1, description="How many different people must approve."
    )
    each_of: list[Names] = Field(
        default_factory=list,
        description="Groups; somebody else of each must be among those who approve.",
    )
    self_approval: Annotated[bool, BeforeValidator(read_filled)] = Field(
        True, description="Whether whoever asked for the run may answer."
    )
    declines: Literal["one", "all"] = Field(
        "one", description="Whether one decline closes a question, or only as many as must approve."
    )
    notify: list[Name] = Field(default_factory=list, description="Channels that are told.")
    remind: list[Seconds] = Field(
        default_factory=list, description="Seconds after which they are told again."
    )
    escalate: list[EscalationSection] = Field(
        default_factory=list, description="What happens when nobody answers."
    )
    remember: list[RememberSection] = Field(
        default_factory=list, description="Decisions that may be remembered."
    )

    def matched_rule(self) -> tuple[Match, ApprovalRule]:
        """The rule, with the questions that it is for."""
        rule = ApprovalRule(
            name=self.name,
            approvers=tuple(self.approvers),
            quorum=self.quorum,
            each_of=tuple(map(tuple, self.each_of)),
            self_approval=self.self_approval,
            declines=self.declines,
            notify=tuple(self.notify),
            remind=tuple(self.remind),
            escalate=tuple(
                Escalation(step.after, tuple(step.approvers), tuple(step.notify), step.extend)
                for step in self.escalate
            ),
            remember=tuple(Remember(**offer.model_dump()) for offer in self.remember),
        )
        return Match(self.match.agent, self.match.tool, self.match.reason), rule

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        try:
            _, rule = self.matched_rule()
        except AgentMistake as error:
            raise ValueError(str(error).rstrip(".")) from None
        lacking = lacks_approvers(rule)
        if lacking and not rule.escalate:
            raise ValueError(lacking)
        return self
