"""A configuration file, the environment and flags, read and checked together.

Precedence: flags, environment, file, defaults.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from agui_bridge.adapters import Adapter, load_adapter
from agui_bridge.agent_file import AgentFile
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.keyword.adapter import KeywordAdapter
from agui_bridge.agents.keyword.phrases import Replies
from agui_bridge.approvals import RuleList
from agui_bridge.bridge.bridge import Bridge
from agui_bridge.channels.channel import scopes_of_channel
from agui_bridge.config.channels import build_channel
from agui_bridge.config.models import AgentEntry, Configuration, KeywordSection, Launch
from agui_bridge.engine.input.settings import Settings
from agui_bridge.errors import BridgeError, ConfigurationError
from agui_bridge.http.auth import BearerTokens, scopes_given_by
from agui_bridge.http.service import Authenticate
from agui_bridge.import_object import DEBUG_HINT, import_object, look_in
from agui_bridge.protocol.answers.forms import FormField
from agui_bridge.yaml_files.document import Document, Filled, KeyPath, dotted, fill_in, read_yaml
from agui_bridge.yaml_files.faults import refusal, refusal_of

# --- from a configuration to a bridge ---

DEFAULT_STORE = "memory:"


def build_bridge(
    configuration: Configuration, folder: Path, place: Callable[[KeyPath], str] = dotted
) -> Bridge:
    """Make the bridge that a configuration describes. Nothing is opened yet.

    Args:
        configuration: what is wanted.
        folder: where modules are looked for first.
        place: names a key for people, such as `bridge.yaml:3: policy`.

    Raises:
        ConfigurationError: a module, adapter, function or token is missing or unfit.
    """
    options: dict[str, Any] = {}
    if configuration.allowed_hosts is not None:
        options["allowed_hosts"] = configuration.allowed_hosts
    with _At(place(("authentication",))):
        authenticate = _authenticate(configuration, folder)
    if configuration.telemetry is not None:
        options["telemetry"] = configuration.telemetry
    if configuration.inbox is not None:
        with _At(place(("inbox",))):
            options["inbox"] = configuration.inbox.settings()
    channels, known = {}, scopes_given_by(authenticate)
    for name, channel in configuration.channels.items():
        with _At(place(("channels", name))):
            channels[name] = build_channel(channel, folder, known)
            scopes_of_channel(channels[name], known)
    if configuration.audit is not None:
        with _At(place(("audit", "keys_env"))):
            options["audit_keys"] = list(map(_secret, configuration.audit.keys_env))
    with _At(place(("the bridge",))):
        bridge = Bridge(
            configuration.store or DEFAULT_STORE,
            settings=Settings(**configuration.settings.model_dump(exclude_unset=True)),
            authenticate=authenticate,
            cors_origins=configuration.cors_origins,
            cors_origin_regex=configuration.cors_origin_regex,
            copilotkit=configuration.copilotkit,
            playground=configuration.playground,
            mcp=configuration.mcp,
            a2a=configuration.a2a,
            first_page=configuration.first_page,
            channels=channels,
            **options,
        )
    if configuration.policy is not None:
        with _At(place(("policy",))):
            bridge.policy(_callable(configuration.policy, folder))
    _check_notified(configuration, place)
    if configuration.approvals:
        with _At(place(("approvals",))):
            bridge.approvals(RuleList(entry.matched_rule() for entry in configuration.approvals))
    faults: list[ConfigurationError] = []
    for name, entry in configuration.agents.items():
        try:
            with _At(place(("agents", name))):
                adapter, summary = _adapter(entry, folder)
                bridge.add(
                    name,
                    adapter,
                    description=entry.description or summary,
                    exempt=entry.exempt,
                    capabilities=entry.capabilities,
                    **entry.settings.model_dump(exclude_unset=True),
                )
        except ConfigurationError as fault:
            faults.append(fault)
    if faults:
        # Of all agents at once, so that they can be mended at once.
        raise ConfigurationError("\n".join(map(str, faults))) from faults[0].__cause__
    return bridge


def _check_notified(configuration: Configuration, place: Callable[[KeyPath], str]) -> None:
    known = configuration.channels
    for index, entry in enumerate(configuration.approvals):
        told: dict[KeyPath, list[str]] = {("notify",): entry.notify}
        told |= {("escalate", at, "notify"): step.notify for at, step in enumerate(entry.escalate)}
        for key, names in told.items():
            with _At(place(("approvals", index, *key))):
                for name in names:
                    if name not in known:
                        raise ConfigurationError(
                            f"there is no channel {name!r}. Channels: {', '.join(known) or 'none'}."
                        )


class _At:
    """Names the place of what is refused within."""

    def __init__(self, place: str) -> None:
        self._place = place

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, ConfigurationError):
            # The cause stays what it was: --debug shows the author's trace.
            raise ConfigurationError(f"{self._place}: {error}") from error.__cause__


def _authenticate(configuration: Configuration, folder: Path) -> Authenticate | None:
    asked = configuration.authentication
    if asked is None:
        return None
    if asked.hook is not None:
        hook: Authenticate = _callable(asked.hook, folder)
        return hook
    tokens = [token.model_dump(exclude_none=True) for token in asked.bearer or ()]
    return BearerTokens.from_settings(tokens)


def _secret(variable: str) -> str:
    value = os.environ.get(variable)
    if not value:
        raise ConfigurationError(f"the environment variable {variable} is not set.")
    return value


def _callable(target: str, folder: Path) -> Any:
    found = import_object(target, folder)
    if not callable(found):
        raise ConfigurationError(
            f"{target} should be a function, but is of type {type(found).__name__}."
        )
    return found


def _adapter(entry: AgentEntry, folder: Path) -> tuple[Adapter, str]:
    """The adapter of an agent, and what its author says of it."""
    summary = ""
    adapter: Any
    if entry.function is not None:
        function = import_object(entry.function, folder)
        adapter = FunctionAdapter(function)
        summary = (inspect.getdoc(function) or "").partition("\n")[0]
    elif entry.adapter is not None:
        # Its options may name objects of modules of yours.
        look_in(folder.resolve())
        adapter = _instance(entry.adapter, load_adapter(entry.adapter), entry.options, folder)
    elif entry.file is not None:
        file = AgentFile.read(folder / entry.file)
        adapter, summary = file.adapter(), file.values.metadata.description
    else:
        adapter = import_object(entry.object or "", folder)
    if entry.keyword is not None:
        adapter = _asking_in_words(adapter, entry.keyword)
    return adapter, summary


def _instance(name: str, adapter: Any, options: dict[str, Any], folder: Path) -> Any:
    named: Collection[str] = getattr(adapter, "object_options", ())
    try:
        inspect.signature(adapter).bind(**options)
    except TypeError as error:
        known = ", ".join(inspect.signature(adapter).parameters) or "none"
        raise ConfigurationError(
            f"The adapter {name!r} can't be made with these options: {error}.\n"
            f"Its options are: {known}."
        ) from None
    except ValueError:  # a class without a readable signature
        pass
    objects: dict[str, Any] = {}
    for option in named:
        if isinstance(target := options.get(option), str):
            with _At(option):
                objects[option] = import_object(target, folder)
    try:
        return adapter(**{**options, **objects})
    except BridgeError:
        raise
    except Exception as error:
        # Its text may have an option's value, which may be a secret.
        raise ConfigurationError(
            f"The adapter {name!r} refuses its options: it raised {type(error).__name__}. "
            f"{DEBUG_HINT}"
        ) from error


def _asking_in_words(adapter: Adapter, section: KeywordSection) -> Adapter:
    options = section.model_dump(include={"phrases", "label", "expires_in"}, exclude_none=True)
    if section.fields is not None:
        options["fields"] = [FormField.from_json(item.model_dump()) for item in section.fields]
    if section.replies is not None:
        said = section.replies.model_dump(exclude_none=True)
        options["replies"] = Replies(**{name: _frozen(value) for name, value in said.items()})
    return KeywordAdapter(adapter, **options)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


# --- from a file to a bridge ---

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class LoadedConfig:
    """A configuration that was read and checked.

    Attributes:
        values: what it says, with defaults.
        document: the file.
    """

    values: Configuration
    document: Document = field(repr=False)

    def bridge(self) -> Bridge:
        """Make its bridge; the file's folder is where modules are looked for first.

        Raises:
            ConfigurationError: a module, adapter, function or token is missing or unfit.
        """

        def place(where: KeyPath) -> str:
            line = self.document.lines.get(where)
            return f"{self.document.path}{f':{line}' if line else ''}: {dotted(where)}"

        return build_bridge(self.values, self.document.path.resolve().parent, place)


def load_config(
    path: str | Path,
    *,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[KeyPath, Any] | None = None,
) -> LoadedConfig:
    """Read a configuration file.

    Args:
        path: of the YAML file.
        environment: by default the process's.
        flags: values that go before the file's and the environment's, by where they stand, such
            as `{("server", "port"): 8080}`.

    Raises:
        ConfigurationError: the file can't be read, has an unknown key or an unfit value, or names
            a variable that is not set. All faults are told at once, each with its line.
    """
    environment = os.environ if environment is None else environment
    document = read_yaml(Path(path))
    values, faults = fill_in(document, environment)
    if faults:
        raise refusal(str(document.path), faults)
    checked = _check(Configuration, values, environment, flags or {}, document)
    return LoadedConfig(checked, document)


def load_launch(
    *, environment: Mapping[str, str] | None = None, flags: Mapping[KeyPath, Any] | None = None
) -> Launch:
    """The same without a file, for a bridge that a module makes: where and how to serve it.

    Args:
        environment: by default the process's.
        flags: as for `load_config`.

    Raises:
        ConfigurationError: a variable has an unfit value.
    """
    environment = os.environ if environment is None else environment
    return _check(Launch, {}, environment, flags or {}, None)


def bridge_from(path: str | Path, *, environment: Mapping[str, str] | None = None) -> Bridge:
    """Make the bridge that a configuration file describes. Nothing is opened yet.

    Args:
        path: of the YAML file.
        environment: by default the process's.

    Raises:
        ConfigurationError: as `load_config`; or a module, adapter, function or token that the
            file names is missing or unfit.
    """
    return load_config(path, environment=environment).bridge()


def configuration_schema() -> dict[str, Any]:
    """The JSON Schema of a configuration file, for editors."""
    schema = Configuration.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _check(
    model: type[M],
    values: dict[str, Any],
    environment: Mapping[str, str],
    flags: Mapping[KeyPath, Any],
    document: Document | None,
) -> M:
    known = {
        path: value
        for path, value in from_environment(environment).items()
        if path[0] in model.model_fields
    }
    names = {variable.path: variable.name for variable in VARIABLES}

    def place(where: KeyPath) -> str:
        """Where a value came from: a variable, or a line of the file."""
        for end in range(len(where), 0, -1):
            if (part := where[:end]) in flags:
                return f"the flag of {dotted(part)}"
            if part in known:
                return names[part]
        if document is None:
            return dotted(where)
        at = f"{document.path}:{document.line_of(where)}"
        return f"{at}: {dotted(where)}" if where else str(document.path)

    def line_of(where: KeyPath) -> int:
        return document.line_of(where) if document is not None else 0

    try:
        return model.model_validate(replace_from(replace_from(values, known), flags))
    except ValidationError as error:
        source = str(document.path) if document is not None else "the environment"
        raise refusal_of(error, model, source, place, line_of) from None


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable that replaces a value of the file.

    Attributes:
        name: of the variable.
        path: where the value stands.
        many: whether it is a list, with commas between.
    """

    name: str
    path: KeyPath
    many: bool = False


VARIABLES: Final = (
    Variable("AGUI_BRIDGE_STORE", ("store",)),
    Variable("AGUI_BRIDGE_HOST", ("server", "host")),
    Variable("AGUI_BRIDGE_PORT", ("server", "port")),
    Variable("AGUI_BRIDGE_ANONYMOUS", ("server", "anonymous")),
    Variable("AGUI_BRIDGE_LOG_FORMAT", ("logging", "format")),
    Variable("AGUI_BRIDGE_LOG_LEVEL", ("logging", "level")),
    Variable("AGUI_BRIDGE_ALLOWED_HOSTS", ("allowed_hosts",), many=True),
    Variable("AGUI_BRIDGE_CORS_ORIGINS", ("cors_origins",), many=True),
    Variable("AGUI_BRIDGE_CORS_ORIGIN_REGEX", ("cors_origin_regex",)),
)
"""All that are heeded, besides those that a file names."""


def replace_from(values: dict[str, Any], replacements: Mapping[KeyPath, Any]) -> dict[str, Any]:
    """The values with some replaced; a mapping on the way is made when it is missing.

    Where something else stands than a mapping nothing is replaced: that is told as a fault.
    """
    replaced = dict(values)
    for (first, *rest), value in replacements.items():
        key = str(first)
        if not rest:
            replaced[key] = value
        elif isinstance(below := replaced.get(key) or {}, dict):
            replaced[key] = replace_from(below, {tuple(rest): value})
    return replaced


def from_environment(environment: Mapping[str, str]) -> dict[KeyPath, Any]:
    """What the environment replaces. An empty variable counts as absent."""
    found: dict[KeyPath, Any] = {}
    for variable in VARIABLES:
        if text := environment.get(variable.name):
            parts = [part.strip() for part in text.split(",")]
            found[variable.path] = (
                [part for part in parts if part] if variable.many else Filled(text)
            )
    return found
