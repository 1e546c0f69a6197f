"""Agent files, and folders of them, made into a bridge."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from agui_bridge.agent_file.agent_file import BACKEND, AgentFile, is_agent_document
from agui_bridge.bridge.bridge import Bridge
from agui_bridge.errors import ConfigurationError
from agui_bridge.yaml_files.document import read_yaml

__all__ = ["bridge_of", "find_agent_files"]

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
            bridge.add(file.name, file.adapter(), description=about.description)
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
