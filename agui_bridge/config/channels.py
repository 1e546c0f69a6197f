"""The `channels` of a configuration file: where people are told of questions."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from agui_bridge.channels.channel import Channel
from agui_bridge.channels.scopes import Person, find_scopes
from agui_bridge.channels.slack.slack import Slack
from agui_bridge.channels.smtp import Smtp
from agui_bridge.channels.teams import Teams
from agui_bridge.channels.webhook import Webhook
from agui_bridge.errors import ConfigurationError
from agui_bridge.import_object import import_object
from agui_bridge.protocol.threads.records import Principal
from agui_bridge.yaml_files.sections import Section

__all__ = ["ChannelEntry", "build_channel"]

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
