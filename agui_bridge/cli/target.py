"""What `serve` and `check` are given: `module:bridge`, a configuration file, or agent files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agui_bridge.agent_file import bridge_of, is_agent_document
from agui_bridge.bridge.bridge import Bridge
from agui_bridge.config import load_config, load_launch
from agui_bridge.config.models import Launch
from agui_bridge.errors import ConfigurationError
from agui_bridge.import_object import import_object
from agui_bridge.yaml_files.document import KeyPath, read_yaml

__all__ = ["Target"]

_SUFFIXES: Final = (".yaml", ".yml")


@dataclass(frozen=True)
class Target:
    """A bridge to make, and how to serve it.

    Attributes:
        name: as the user gave it.
        launch: where to listen, what to log; flags and the environment are heeded.
    """

    name: str
    launch: Launch
    _file: Any = None
    _agents: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: str | Sequence[str], flags: Mapping[KeyPath, Any] | None = None) -> Target:
        """Read the file if it is one; no code of the user's is run yet.

        Args:
            names: one module or file; or files of `kind: Agent` and folders of them.
            flags: values that go before all others, None for those that are not given.

        Raises:
            ConfigurationError: the file, a variable or a flag is wrong.
        """
        flags = {path: value for path, value in (flags or {}).items() if value is not None}
        names = (names,) if isinstance(names, str) else tuple(names)
        name, path = " ".join(names), Path(names[0])
        if len(names) > 1 or path.is_dir() or _is_agent(path):
            return cls(name, load_launch(flags=flags), None, names)
        if path.suffix in _SUFFIXES or (path.is_file() and path.suffix != ".py"):
            file = load_config(path, flags=flags)
            return cls(name, file.values, file)
        if path.suffix == ".json":
            raise ConfigurationError(
                f"{name!r} is no configuration file.\nName a YAML file, or module:bridge."
            )
        return cls(name, load_launch(flags=flags))

    def bridge(self) -> Bridge:
        """Make or import the bridge.

        Raises:
            ConfigurationError: it is missing, is none, or its module fails.
        """
        if self._file is not None:
            made: Bridge = self._file.bridge()
            return made
        if self._agents:
            return bridge_of(self._agents, store=self.launch.store)
        bridge: Bridge = import_object(self.name, kind=Bridge)
        if self.launch.store is not None:
            bridge.store = self.launch.store
        if not bridge.agents:
            raise ConfigurationError(
                f"{self.name} has no agents.\nRegister one: @{self.name.partition(':')[2]}.agent"
            )
        return bridge


def _is_agent(path: Path) -> bool:
    return path.suffix in _SUFFIXES and path.is_file() and is_agent_document(read_yaml(path))
