"""The `channels` of a configuration file: where people are told of questions."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from agui_bridge.approvals import Match
from agui_bridge.channels.channel import Channel, Person, find_scopes
from agui_bridge.channels.slack import Slack
from agui_bridge.channels.smtp import Smtp
from agui_bridge.channels.webhooks import Teams, Webhook
from agui_bridge.errors import AgentMistake, ConfigurationError
from agui_bridge.import_object import import_object
from agui_bridge.protocol.answers.asks import LONGEST_WAIT
from agui_bridge.protocol.threads.approval_rule import (
    ApprovalRule,
    Escalation,
    Remember,
    lacks_approvers,
)
from agui_bridge.protocol.threads.records import Principal
from agui_bridge.yaml_files.document import Section, read_filled

# --- the `approvals` of a configuration file: who may answer which questions ---

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


_REFERENCE: Final = r"^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_.]*$"

_NEEDED: Final = {
    "webhook": ("url_env", "secret_env"),
    "slack": ("token_env", "signing_secret_env", "channel", "people"),
    "smtp": ("url_env", "sender", "to"),
    "teams": ("url_env",),
}
"""What each type needs besides; what it may not have is everything of the others."""

_COMMON: Final = ("type", "scopes", "by_default", "show_args", "per_second")

Scopes = Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]


class Recipient(Section):
    """Somebody who gets mails, and decides through their links with these roles."""

    address: str = Field(description="Where to.")
    roles: list[Annotated[str, Field(min_length=1)]] = Field(
        default_factory=list, description="What the person is for `role:NAME` in rules."
    )
    scopes: Scopes | None = Field(
        None,
        description="Whose questions they are told of; by default of the channel's only scope.",
    )


def _spelled_out(value: object) -> object:
    return {"address": value} if isinstance(value, str) else value


AddressOrRecipient = Annotated[
    Recipient, BeforeValidator(_spelled_out, json_schema_input_type=str | Recipient)
]
"""An address alone is somebody without roles, of the channel's only scope."""


class ChannelEntry(Section):
    """One channel. Secrets are read from environment variables."""

    type: Literal["webhook", "slack", "smtp", "teams"] = Field(description="What it is.")
    scopes: Scopes | None = Field(
        None,
        description="Whose questions it is told of; `*` is any scope. By default those of the "
        "only scope.",
    )
    by_default: bool = Field(
        True, description="Whether it is told of questions whose rule names no channels."
    )
    show_args: bool = Field(False, description="Whether it shows a tool call's arguments.")
    per_second: float | None = Field(
        None, gt=0, description="Notices in a second at most; Slack: 1, others: 10."
    )
    url_env: str | None = Field(
        None, description="The variable with the address: of webhooks, Teams, the mail server."
    )
    secret_env: str | None = Field(None, description="The variable with the webhook's `whsec_…`.")
    token_env: str | None = Field(None, description="The variable with Slack's bot token.")
    signing_secret_env: str | None = Field(
        None, description="The variable with Slack's signing secret."
    )
    channel: str | None = Field(None, description="The id of the channel in Slack.")
    people: Annotated[str, Field(pattern=_REFERENCE)] | None = Field(
        None, description="A function from a Slack user to a `Principal`, as `module:function`."
    )
    sender: str | None = Field(None, description="The address that mails come from.")
    to: dict[str, AddressOrRecipient] | None = Field(None, description="Mail addresses by actor.")

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        needed = _NEEDED[self.type]
        for name in needed:
            if getattr(self, name) is None:
                raise ValueError(f"a channel of type {self.type} needs `{name}`")
        for name in self.model_fields_set - {*needed, *_COMMON}:
            raise ValueError(f"a channel of type {self.type} has no `{name}`")
        return self


def build_channel(entry: ChannelEntry, folder: Path, known: Collection[str] | None) -> Channel:
    """Make the channel of an entry.

    Args:
        entry: of the file.
        folder: where modules are looked for first.
        known: the scopes that the bridge has; None: any.

    Raises:
        ConfigurationError: a variable is not set, a value is none, or nobody knows whose questions
            it is told of.
    """
    options: dict[str, Any] = {
        "scopes": entry.scopes, "by_default": entry.by_default, "show_args": entry.show_args
    }  # fmt: skip
    if entry.per_second is not None:
        options["per_second"] = entry.per_second
    match entry.type:
        case "webhook":
            return Webhook(_value(entry.url_env), _value(entry.secret_env).split(), **options)
        case "teams":
            return Teams(_value(entry.url_env), **options)
        case "smtp":
            to = _recipients(entry, known)
            return Smtp(_value(entry.url_env), entry.sender or "", to, **options)
        case "slack":
            people: Any = import_object(entry.people or "", folder)
            token, secret = _value(entry.token_env), _value(entry.signing_secret_env)
            return Slack(token, secret, entry.channel or "", people, **options)


def _recipients(entry: ChannelEntry, known: Collection[str] | None) -> Mapping[Person, str]:
    """Who gets mails; plain names are those whose scope nobody knows."""
    people = entry.to or {}
    plain = any(one.scopes is None for one in people.values())
    home = find_scopes(entry.scopes, known).only if plain else None
    return {_person(actor, one, home): one.address for actor, one in people.items()}


def _person(actor: str, one: Recipient, home: str | None) -> Person:
    scopes = one.scopes or ([] if home is None else [home])
    if not scopes:
        return actor
    return Principal(scopes[0], actor, frozenset(one.roles), tuple(scopes[1:]))


def _value(variable: str | None) -> str:
    found = os.environ.get(variable or "", "")
    if not found:
        raise ConfigurationError(f"the environment variable {variable} is not set.")
    return found
