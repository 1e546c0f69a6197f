"""Agents from YAML files of `kind: Agent`, in SuperAgent's format, made into a bridge.

::

    bridge = bridge_of(["approval.yaml", "agents/"])

A file alone: `AgentFile.read("approval.yaml").adapter()` is what `Bridge.add` takes.
Source: seed 000_9c3a40ec0d8c2fa7.txt, "Agent YAML".
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from agui_bridge.adapters import Adapter
from agui_bridge.agent_file_models import AgentDocument, find_unknown
from agui_bridge.agents.keyword import KeywordAdapter
from agui_bridge.agents.keyword_phrases import PHRASES
from agui_bridge.config_environment import dotted, fill_in
from agui_bridge.config_faults import refusal, refusal_of
from agui_bridge.config_yaml import Document, KeyPath, read_yaml
from agui_bridge.errors import ConfigurationError
from agui_bridge.http.app import Bridge
from agui_bridge.protocol.forms import FormField

__all__ = ["AgentFile", "bridge_of", "find_agent_files", "is_agent_document"]

logger = logging.getLogger("agui_bridge")

_SUFFIXES: Final = (".yaml", ".yml")
_BACKEND: Final[KeyPath] = ("spec", "interrupt", "checkpoint_backend")
_STORES: Final[Mapping[str, tuple[str, str | None]]] = {
    "memory": ("", "memory:"),
    "sqlite": ("SQLITE_URL", "sqlite:///agui-bridge.db"),
    "redis": ("REDIS_URL", "redis://127.0.0.1:6379/0"),
    "postgres": ("DATABASE_URL", None),
}
"""By backend the variable that holds the store's address, and what it is without that."""


@dataclass(frozen=True)
class AgentFile:
    """A file that was read and checked.

    Attributes:
        values: what it says, with defaults.
        document: the file.
    """

    values: AgentDocument
    document: Document = field(repr=False)

    @classmethod
    def read(cls, path: str | Path, *, environment: Mapping[str, str] | None = None) -> AgentFile:
        """Read a file; a key that means nothing here is warned of.

        Args:
            path: of the YAML file.
            environment: for `${NAME}` in `spec.model`; by default the process's.

        Raises:
            ConfigurationError: it can't be read, or a value is missing or unfit. All faults are
                told at once, each with its line.
        """
        return cls.of(read_yaml(Path(path)), environment=environment)

    @classmethod
    def of(cls, document: Document, *, environment: Mapping[str, str] | None = None) -> AgentFile:
        """The same of a document that was read already."""
        environment = os.environ if environment is None else environment
        values = _filled(document, environment)
        try:
            checked = AgentDocument.model_validate(values)
        except ValidationError as error:
            source = str(document.path)

            def place(where: KeyPath) -> str:
                return _place(document, where)

            raise refusal_of(error, AgentDocument, source, place) from None
        for where in find_unknown(document.values):
            logger.warning("%s: unknown key; it has no effect", _place(document, where))
        return cls(checked, document)

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.values.metadata.name

    @property
    def backend(self) -> str | None:
        """The backend that the file itself asks for; None where any will do."""
        written = _BACKEND in self.document.lines
        asked = self.values.spec.interrupt
        return asked.checkpoint_backend if asked.enabled and written else None

    def place(self, *where: str | int) -> str:
        """Name a key for people, with its line."""
        return _place(self.document, where)

    def adapter(self) -> Adapter:
        """Make the agent.

        Raises:
            ConfigurationError: a keyword can't be found, or the extra `openai` is missing.
        """
        spec = self.values.spec
        try:
            from agui_bridge.agents.chat_model import ChatModelAdapter
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                f"{self.place('spec', 'type')}: a package is missing ({error.name}).\n"
                'Install it: pip install "agui-bridge[openai]"'
            ) from error
        model = spec.model
        options: dict[str, Any] = {"temperature": model.temperature, "max_tokens": model.max_tokens}
        adapter = ChatModelAdapter(
            model.primary,
            system_prompt=spec.system_prompt,
            base_url=model.base_url,
            api_key=model.api_key,
            timeout=model.timeout_seconds,
            retries=model.max_retries,
            options={name: value for name, value in options.items() if value is not None},
        )
        asked = spec.interrupt
        if not asked.enabled:
            return adapter
        fields = None
        if asked.fields is not None:
            fields = [FormField.from_json(each.model_dump()) for each in asked.fields]
        try:
            return KeywordAdapter(
                adapter,
                phrases=asked.keywords or PHRASES,
                fields=fields,
                expires_in=asked.timeout_seconds,
            )
        except ConfigurationError as error:
            raise ConfigurationError(f"{self.place('spec', 'interrupt')}: {error}") from None


def bridge_of(
    paths: Sequence[str | Path],
    *,
    store: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Bridge:
    """Make a bridge of agent files. Nothing is opened yet.

    Args:
        paths: files, and folders of which every `.yaml` and `.yml` file of `kind: Agent` counts.
        store: address of the store; by default that of the backend that the files ask for.
        environment: by default the process's.

    Raises:
        ConfigurationError: a file is wrong, two have one name, or they ask for different backends.
    """
    environment = os.environ if environment is None else environment
    files = [AgentFile.read(path, environment=environment) for path in find_agent_files(paths)]
    bridge = Bridge(store or _store_of(files, environment))
    for file in files:
        about = file.values.metadata
        try:
            bridge.add(file.name, file.adapter(), description=about.description)
        except ConfigurationError as error:
            raise ConfigurationError(f"{file.place('metadata', 'name')}: {error}") from None
    return bridge


def find_agent_files(paths: Sequence[str | Path]) -> list[Path]:
    """The files that are meant: of a folder those of `kind: Agent`, by name.

    Raises:
        ConfigurationError: a folder has none.
    """
    found: list[Path] = []
    for path in map(Path, paths):
        if not path.is_dir():
            found.append(path)
            continue
        files = sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES)
        agents = [file for file in files if is_agent_document(read_yaml(file))]
        if not agents:
            raise ConfigurationError(f"There is no file of `kind: Agent` in {str(path)!r}.")
        found += agents
    return found


def is_agent_document(document: Document) -> bool:
    """Whether a file means to be an agent's, right or wrong."""
    version = str(document.values.get("apiVersion", ""))
    return document.values.get("kind") == "Agent" or version.startswith("superagent/")


def _store_of(files: Sequence[AgentFile], environment: Mapping[str, str]) -> str:
    asking = [file for file in files if file.backend is not None]
    if not asking:
        return "memory:"
    first = asking[0]
    for other in asking:
        if other.backend != first.backend:
            raise ConfigurationError(
                f"{other.place(*_BACKEND)}: {other.backend} here, and {first.backend} in "
                f"{first.place(*_BACKEND)}.\nAgents that are served together share one store: "
                "ask for one backend, or name the store with --store."
            )
    variable, default = _STORES[str(first.backend)]
    url = environment.get(variable) or default
    if url is None:
        raise ConfigurationError(
            f"{first.place(*_BACKEND)}: nothing says where PostgreSQL is.\n"
            f"Set {variable}, or name the store with --store."
        )
    return url


def _filled(document: Document, environment: Mapping[str, str]) -> dict[str, Any]:
    """The values, with the environment's in `spec.model`: a prompt's `${` is its own."""
    spec = document.values.get("spec")
    if not isinstance(spec, dict) or not isinstance(spec.get("model"), dict):
        return document.values
    part = Document(document.path, {"spec": {"model": spec["model"]}}, document.lines)
    filled, faults = fill_in(part, environment)
    if faults:
        raise refusal(str(document.path), faults)
    return {**document.values, "spec": {**spec, "model": filled["spec"]["model"]}}


def _place(document: Document, where: KeyPath) -> str:
    at = f"{document.path}:{document.line_of(where)}"
    return f"{at}: {dotted(where)}" if where else str(document.path)
