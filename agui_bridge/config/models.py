"""What a configuration file may say, as strict models: nothing is guessed, nothing ignored."""

from __future__ import annotations

import inspect
import os
import re
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Annotated, Any, Final, Self, get_type_hints

from pydantic import (
    BeforeValidator,
    Field,
    create_model,
    field_validator,
    model_validator,
)

from agui_bridge.config.channels import ApprovalEntry, ChannelEntry
from agui_bridge.engine.input.settings import PER_AGENT, Settings, bounds_of
from agui_bridge.errors import ConfigurationError
from agui_bridge.http.copilotkit.operations import BASE
from agui_bridge.inbox.settings import Inbox
from agui_bridge.logs import LogFormat, LogLevel
from agui_bridge.yaml_files.document import FieldSection, Section, read_filled, unfilled

_WEEK = 7 * 86400.0


class InboxSection(Section):
    """How people reach their questions."""

    url: str | None = Field(
        None,
        min_length=1,
        description="Where people reach the bridge, such as `https://agents.example`; addresses in "
        "messages to them begin with it.",
    )
    key_env: list[Annotated[str, Field(min_length=1)]] = Field(
        default_factory=list,
        description="Environment variables with the keys of references and links, 16 bytes or "
        "more each: the first signs, all verify.",
    )
    link_ttl: float = Field(_WEEK, gt=0, description="Seconds for which a link is good.")
    login_url: str | None = Field(
        None, min_length=1, description="Where a page sends those who are not known."
    )

    def settings(self) -> Inbox:
        """The settings, with the keys that the environment has.

        Raises:
            ConfigurationError: a variable is missing, or a value is unfit.
        """
        missing = [name for name in self.key_env if not os.environ.get(name)]
        if missing:
            raise ConfigurationError(f"the environment variable {missing[0]} is missing or empty.")
        return Inbox(
            url=self.url,
            keys=tuple(os.environ[name] for name in self.key_env),
            link_ttl=self.link_ttl,
            login_url=self.login_url,
        )


_REFERENCE: Final = r"^[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_.]*$"

Reference = Annotated[str, Field(pattern=_REFERENCE)]
"""`module:variable`."""


class Server(Section):
    """The address of the server."""

    host: str = Field("127.0.0.1", description="Address to bind to.")
    port: Annotated[int, BeforeValidator(read_filled)] = Field(
        8787, ge=0, le=65535, description="Port to bind to; 0 takes a free one."
    )
    anonymous: Annotated[bool, BeforeValidator(read_filled)] = Field(
        False,
        description="Serve others than this machine, though nothing says who they are.",
    )


class Logging(Section):
    """What the process writes to standard error."""

    format: LogFormat = Field("text", description="Readable text, or one JSON object a line.")
    level: LogLevel = Field("info", description="The lowest level that is shown.")


class BearerToken(Section):
    """A token that clients send as `Authorization: Bearer …`, and who they are with it."""

    token_env: str | None = Field(None, description="The environment variable that holds it.")
    token_sha256: Annotated[str, Field(pattern="^[0-9a-fA-F]{64}$")] | None = Field(
        None, description="Its SHA-256 in hexadecimal digits, so that the file holds no secret."
    )
    token: str | None = Field(None, min_length=1, repr=False, description="The token itself.")
    scope: str = Field(
        "default", min_length=1, description="Whose threads these clients see and write."
    )
    actor: str = Field(min_length=1, description="Who they are in the history of interrupts.")
    roles: list[Annotated[str, Field(min_length=1)]] = Field(
        default_factory=list, description="What they are where a rule names `role:NAME`."
    )
    reviews: list[Annotated[str, Field(min_length=1)]] = Field(
        default_factory=list,
        description="Other scopes whose questions they see and answer, never their threads.",
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        _exactly_one(self, "token_env", "token_sha256", "token")
        return self


class Authentication(Section):
    """Who asks. Without it everybody is the same."""

    bearer: Annotated[list[BearerToken], Field(min_length=1)] | None = Field(
        None, description="Tokens that are let in."
    )
    hook: Reference | None = Field(
        None,
        description="A function from the request to a `Principal`, as `module:function`.",
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        _exactly_one(self, "bearer", "hook")
        return self


class Audit(Section):
    """The audit chain: what was decided, by whom and through what, sealed row by row."""

    keys_env: Annotated[list[str], Field(min_length=1)] = Field(
        description="The environment variables that hold its keys, newest first."
    )


def _meanings() -> dict[str, str]:
    """What each field of `Settings` means, from its docstring."""
    text = inspect.getdoc(Settings) or ""
    entries = re.findall(
        r"^    (\w+): (.*?)(?=^    \w+: |\Z)",
        text.partition("Attributes:\n")[2],
        re.DOTALL | re.MULTILINE,
    )
    return {name: " ".join(meaning.split()) for name, meaning in entries}


def _settings_model(name: str, doc: str, names: frozenset[str]) -> type[Section]:
    """Settings as a section; its defaults are told, but only what is written is applied."""
    kinds, meanings = get_type_hints(Settings), _meanings()
    bounds = {"exclusiveMinimum": "gt", "minimum": "ge", "maximum": "le"}
    members: dict[str, Any] = {}
    for field in fields(Settings):
        if field.name not in names:
            continue
        limits: dict[str, Any] = {
            bounds[word]: limit for word, limit in bounds_of(field.name).items()
        }
        assert field.default is not MISSING
        told = Field(field.default, description=meanings.get(field.name), **limits)
        members[field.name] = (kinds[field.name], told)
    validators: dict[str, Any] = {"_read": field_validator("*", mode="before")(read_filled)}
    return create_model(name, __base__=Section, __doc__=doc, __validators__=validators, **members)


if TYPE_CHECKING:

    class SettingsSection(Section):
        """The fields of `Settings`."""

    class AgentSettingsSection(Section):
        """Those that an agent may have of its own."""

else:
    SettingsSection = _settings_model(
        "Settings",
        "The numbers of the bridge. Times are in seconds.",
        frozenset(field.name for field in fields(Settings)),
    )
    AgentSettingsSection = _settings_model(
        "AgentSettings", "Settings that an agent has of its own.", PER_AGENT
    )


class RepliesSection(Section):
    """What the agent is told, instead of the built-in sentences."""

    yes: str | None = Field(None, description="The confirm field is true.")
    no: str | None = Field(None, description="It is false, or missing.")
    answered: str | None = Field(None, description="The form has no confirm field.")
    cancelled: str | None = Field(None, description="The request was cancelled.")
    expired: str | None = Field(None, description="Nobody answered in time.")
    lost: str | None = Field(None, description="The run that had the answer was lost.")
    field: str | None = Field(None, description="A filled field's line: `{label}`, `{value}`.")
    values: Annotated[list[str], Field(min_length=2, max_length=2)] | None = Field(
        None, description="What stands for true and false."
    )


class KeywordSection(Section):
    """An agent that asks in words, such as "Please confirm", pauses for the answer."""

    phrases: Annotated[list[str], Field(min_length=1)] | None = Field(
        None, description="What counts as a request; by default built-in phrases."
    )
    fields: Annotated[list[FieldSection], Field(min_length=1)] | None = Field(
        None, description="The form; by default one confirm field."
    )
    label: str | None = Field(None, description="The label of the confirm field.")
    replies: RepliesSection | None = Field(None, description="What the agent is told.")
    expires_in: Annotated[float | None, BeforeValidator(read_filled)] = Field(
        None, gt=0, description="Seconds until a request can't be answered."
    )


class AgentEntry(Section):
    """One agent: a function, an installed adapter, an adapter object of your own, or a file."""

    function: Reference | None = Field(
        None, description="An async function or generator, as `module:function`."
    )
    adapter: str | None = Field(
        None, description="The name of an installed adapter; `agui-bridge adapters` lists them."
    )
    object: Reference | None = Field(
        None, description="An adapter that a module of yours makes, as `module:variable`."
    )
    file: str | None = Field(
        None, min_length=1, description="A SuperAgent file of `kind: Agent`, beside this one."
    )
    options: Annotated[dict[str, Any], BeforeValidator(unfilled)] = Field(
        default_factory=dict, description="Keyword arguments of the adapter's class."
    )
    description: str = Field("", description="For people; by default the function's docstring.")
    settings: AgentSettingsSection = Field(
        default_factory=AgentSettingsSection, description="Settings of its own."
    )
    exempt: Annotated[bool, BeforeValidator(read_filled)] = Field(
        False, description="Leave it out of the policy, which its framework can't honour."
    )
    capabilities: dict[str, Any] = Field(
        default_factory=dict,
        description="What clients are told of it besides, as AG-UI's AgentCapabilities.",
    )
    keyword: KeywordSection | None = Field(
        None, description="Pause it when it asks for a confirmation in words."
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        _exactly_one(self, "function", "adapter", "object", "file")
        if self.options and self.adapter is None:
            raise ValueError("`options` are those of an `adapter`; this agent has none")
        return self


class Launch(Section):
    """What the command line needs to serve any bridge, also one that a module makes."""

    store: str | None = Field(
        None,
        min_length=1,
        description="Where threads live: `memory:`, `sqlite:///path`, `postgresql://…`, "
        "`redis://…`; by default memory.",
    )
    server: Server = Field(default_factory=Server, description="Where it listens.")
    logging: Logging = Field(default_factory=Logging, description="What is logged, and how.")


class Configuration(Launch):
    """A configuration file of agui-bridge."""

    settings: SettingsSection = Field(
        default_factory=SettingsSection, description="The numbers of the bridge."
    )
    authentication: Authentication | None = Field(None, description="Who asks.")
    allowed_hosts: list[str] | None = Field(
        None,
        description="Values of the Host header that are served; by default this machine's names.",
    )
    cors_origins: list[str] = Field(
        default_factory=list,
        description="Origins whose pages may call, such as `https://app.example`.",
    )
    cors_origin_regex: str | None = Field(
        None, description="The same as a pattern of the whole origin."
    )
    copilotkit: str | None = Field(
        BASE,
        description="Where the routes of CopilotKit's runtime stand; null if there are to be none.",
    )
    playground: Annotated[bool, BeforeValidator(read_filled)] = Field(
        False, description="Show a page at `/playground` on which to try the agents."
    )
    mcp: Annotated[bool, BeforeValidator(read_filled)] = Field(
        False, description="Serve the agents at `/mcp` as tools of MCP clients."
    )
    a2a: Annotated[bool, BeforeValidator(read_filled)] = Field(
        False, description="Serve the agents at `/a2a/{agent}` to other agents, over A2A."
    )
    first_page: Annotated[bool | None, BeforeValidator(read_filled)] = Field(
        None,
        description="Show the agents, and how to talk to them, at `/`; by default where there is "
        "no authentication.",
    )
    inbox: InboxSection | None = Field(None, description="How people reach their questions.")
    telemetry: Annotated[bool | None, BeforeValidator(read_filled)] = Field(
        None,
        description="Whether OpenTelemetry is told what is done; by default if it is installed.",
    )
    audit: Audit | None = Field(None, description="Seals the history of questions.")
    policy: Reference | None = Field(
        None, description="A function that decides about tool calls, as `module:function`."
    )
    channels: dict[str, ChannelEntry] = Field(
        default_factory=dict, description="Where people are told of questions, by name."
    )
    approvals: list[ApprovalEntry] = Field(
        default_factory=list,
        description="Who may answer which questions; the first rule that fits counts.",
    )
    agents: dict[str, AgentEntry] = Field(
        min_length=1, description="The agents, by the name that they have in addresses."
    )

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        try:
            Settings(**self.settings.model_dump(exclude_unset=True))
        except ConfigurationError as error:
            raise ValueError(str(error).rstrip(".")) from None
        return self


def _exactly_one(section: Section, *names: str) -> None:
    given = [name for name in names if getattr(section, name) is not None]
    if len(given) != 1:
        choice = ", ".join(names[:-1]) + f" and {names[-1]}"
        found = "none is" if not given else " and ".join(given) + " are"
        raise ValueError(f"give exactly one of {choice}; {found} given")
