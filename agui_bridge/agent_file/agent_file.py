"""One file of `kind: Agent`, in SuperAgent's format, and the agent or bridge that is made of it.

Source: SuperAgent's page "Interrupt/Resume", "Agent YAML".
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
from agui_bridge.agent_file.models import INSTEAD, AgentDocument, find_unknown
from agui_bridge.agents.keyword.adapter import KeywordAdapter
from agui_bridge.agents.keyword.phrases import PHRASES
from agui_bridge.bridge.bridge import Bridge
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.answers.forms import FormField
from agui_bridge.yaml_files.document import Document, KeyPath, dotted, fill_in, read_yaml
from agui_bridge.yaml_files.faults import refusal, refusal_of

logger: Final = logging.getLogger("agui_bridge")

BACKEND: Final[KeyPath] = ("spec", "interrupt", "checkpoint_backend")
"""Where a file names the backend that it wants."""


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
        """The same of a document that was read already.

        Args:
            document: the YAML file.
            environment: by default the process's.

        Raises:
            ConfigurationError: a value is unfit, or a variable is not set.
        """
        environment = os.environ if environment is None else environment
        values = _filled(document, environment)
        try:
            checked = AgentDocument.model_validate(values)
        except ValidationError as error:
            source = str(document.path)

            def place(where: KeyPath) -> str:
                return _place(document, where)

            raise refusal_of(error, AgentDocument, source, place, document.line_of) from None
        for where in find_unknown(document.values):
            instead = INSTEAD.get(where)
            known = f"a key of SuperAgent's server: {instead}" if instead else "unknown key"
            logger.warning("%s: %s; it has no effect", _place(document, where), known)
        return cls(checked, document)

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.values.metadata.name

    @property
    def backend(self) -> str | None:
        """The backend that the file itself asks for; None where any will do."""
        written = BACKEND in self.document.lines
        asked = self.values.spec.interrupt
        return asked.checkpoint_backend if asked.enabled and written else None

    def place(self, *where: str | int) -> str:
        """Name a key for people, with its line.

        Args:
            *where: the keys that lead to it, from the top.
        """
        return _place(self.document, where)

    def adapter(self) -> Adapter:
        """Make the agent.

        Raises:
            ConfigurationError: a keyword can't be found, a tool can't be imported, or the extra
                `openai` is missing.
        """
        spec = self.values.spec
        try:
            from agui_bridge.agent_file.tools import servers_of, tool_of
            from agui_bridge.agents.chat import ChatAgent
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                f"{self.place('spec', 'type')}: a package is missing ({error.name}).\n"
                'Install it: pip install "agui-bridge[openai]"'
            ) from error
        model = spec.model
        options: dict[str, Any] = {"temperature": model.temperature, "max_tokens": model.max_tokens}
        tools: list[Any] = []
        for number, part in enumerate(spec.tools):
            try:
                tools.append(tool_of(part, self.document.path.parent))
            except ConfigurationError as error:
                place = self.place("spec", "tools", number, "function")
                raise ConfigurationError(f"{place}: {error}") from error.__cause__
        if spec.mcp:
            try:
                tools.append(servers_of(spec.mcp))
            except ConfigurationError as error:
                raise ConfigurationError(f"{self.place('spec', 'mcp')}: {error}") from error
        adapter = ChatAgent(
            model.primary,
            tools=tools,
            instructions=spec.system_prompt,
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


def is_agent_document(document: Document) -> bool:
    """Whether a file means to be an agent's, right or wrong.

    Args:
        document: the YAML file.
    """
    version = str(document.values.get("apiVersion", ""))
    return document.values.get("kind") == "Agent" or version.startswith("superagent/")


def _filled(document: Document, environment: Mapping[str, str]) -> dict[str, Any]:
    """The values, with the environment's in two parts: a prompt's `${` is its own."""
    spec = document.values.get("spec")
    if not isinstance(spec, dict):
        return document.values
    parts = {key: spec[key] for key in ("model", "mcp") if isinstance(spec.get(key), dict | list)}
    part = Document(document.path, {"spec": parts}, document.lines)
    filled, faults = fill_in(part, environment)
    if faults:
        raise refusal(str(document.path), faults)
    return {**document.values, "spec": {**spec, **filled["spec"]}}


def _place(document: Document, where: KeyPath) -> str:
    at = f"{document.path}:{document.line_of(where)}"
    return f"{at}: {dotted(where)}" if where else str(document.path)


_SUFFIXES: Final = (".yaml", ".yml")
_STORES: Final[Mapping[str, tuple[str, str | None]]] = {
    "memory": ("", "memory:"),
    "sqlite": ("SQLITE_URL", "sqlite:///agui-bridge.db"),
    "redis": ("REDIS_URL", "redis://127.0.0.1:6379/0"),
    "postgres": ("DATABASE_URL", None),
}
"""By backend the variable that holds the store's address, and what it is without that."""


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
            bridge.add(
                file.name,
                file.adapter(),
                description=about.description,
                checkpoint=file.values.spec.checkpoint,
            )
        except ConfigurationError as error:
            raise ConfigurationError(f"{file.place('metadata', 'name')}: {error}") from None
    return bridge


def find_agent_files(paths: Sequence[str | Path]) -> list[Path]:
    """The files that are meant: of a folder those of `kind: Agent`, by name.

    Args:
        paths: files, which are taken as they are, and folders.

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


def _store_of(files: Sequence[AgentFile], environment: Mapping[str, str]) -> str:
    asking = [file for file in files if file.backend is not None]
    if not asking:
        return "memory:"
    first = asking[0]
    for other in asking:
        if other.backend != first.backend:
            raise ConfigurationError(
                f"{other.place(*BACKEND)}: {other.backend} here, and {first.backend} in "
                f"{first.place(*BACKEND)}.\nAgents that are served together share one store: "
                "ask for one backend, or name the store with --store."
            )
    variable, default = _STORES[str(first.backend)]
    url = environment.get(variable) or default
    if url is None:
        raise ConfigurationError(
            f"{first.place(*BACKEND)}: nothing says where PostgreSQL is.\n"
            f"Set {variable}, or name the store with --store."
        )
    return url
