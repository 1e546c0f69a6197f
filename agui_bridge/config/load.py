"""A configuration file, the environment and flags, read and checked together."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from agui_bridge.bridge.bridge import Bridge
from agui_bridge.config.build import build_bridge
from agui_bridge.config.environment import VARIABLES, from_environment, replace_from
from agui_bridge.config.models import Configuration, Launch
from agui_bridge.yaml_files.document import Document, KeyPath, dotted, read_yaml
from agui_bridge.yaml_files.faults import refusal, refusal_of
from agui_bridge.yaml_files.variables import fill_in

__all__ = ["LoadedConfig", "bridge_from", "configuration_schema", "load_config", "load_launch"]

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
