"""From a configuration to a bridge."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agui_bridge.adapters import Adapter, load_adapter
from agui_bridge.agent_file import AgentFile
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.keyword.adapter import KeywordAdapter
from agui_bridge.agents.keyword.phrases import Replies
from agui_bridge.approvals import RuleList
from agui_bridge.bridge.bridge import Bridge
from agui_bridge.channels.scoped_channels import scopes_of_channel
from agui_bridge.config.channels import build_channel
from agui_bridge.config.models import AgentEntry, Configuration, KeywordSection
from agui_bridge.engine.input.settings import Settings
from agui_bridge.errors import BridgeError, ConfigurationError
from agui_bridge.http.auth import BearerTokens, scopes_given_by
from agui_bridge.http.service import Authenticate
from agui_bridge.import_object import DEBUG_HINT, import_object, look_in
from agui_bridge.protocol.answers.forms import FormField
from agui_bridge.yaml_files.document import KeyPath, dotted

__all__ = ["build_bridge"]

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
        adapter = _instance(entry.adapter, load_adapter(entry.adapter), entry.options)
    elif entry.file is not None:
        file = AgentFile.read(folder / entry.file)
        adapter, summary = file.adapter(), file.values.metadata.description
    else:
        adapter = import_object(entry.object or "", folder)
    if entry.keyword is not None:
        adapter = _asking_in_words(adapter, entry.keyword)
    return adapter, summary


def _instance(name: str, adapter: Any, options: dict[str, Any]) -> Any:
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
    try:
        return adapter(**options)
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
