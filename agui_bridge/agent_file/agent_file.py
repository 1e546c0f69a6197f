"""One file of `kind: Agent`, in SuperAgent's format, and the agent that it describes.

Source: SuperAgent's page "Interrupt/Resume", "Agent YAML".
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from agui_bridge.adapters import Adapter
from agui_bridge.agent_file.models import AgentDocument, find_unknown
from agui_bridge.agents.keyword.adapter import KeywordAdapter
from agui_bridge.agents.keyword.phrases import PHRASES
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.answers.forms import FormField
from agui_bridge.yaml_files.document import Document, KeyPath, dotted, read_yaml
from agui_bridge.yaml_files.faults import refusal, refusal_of
from agui_bridge.yaml_files.variables import fill_in

__all__ = ["BACKEND", "AgentFile", "is_agent_document"]

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
            logger.warning("%s: unknown key; it has no effect", _place(document, where))
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
            from agui_bridge.agent_file.tools import tool_of
            from agui_bridge.agents.chat import ChatAgent
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                f"{self.place('spec', 'type')}: a package is missing ({error.name}).\n"
                'Install it: pip install "agui-bridge[openai]"'
            ) from error
        model = spec.model
        options: dict[str, Any] = {"temperature": model.temperature, "max_tokens": model.max_tokens}
        tools = []
        for number, part in enumerate(spec.tools):
            try:
                tools.append(tool_of(part, self.document.path.parent))
            except ConfigurationError as error:
                place = self.place("spec", "tools", number, "function")
                raise ConfigurationError(f"{place}: {error}") from error.__cause__
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
