"""What `serve` and `check` are given: `module:bridge`, a configuration file, or agent files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from agui_bridge.agent_file import bridge_of, is_agent_document
from agui_bridge.bridge.bridge import Bridge
from agui_bridge.cli.options import shared_flags
from agui_bridge.config import load_config, load_launch
from agui_bridge.config.models import Launch
from agui_bridge.errors import ConfigurationError
from agui_bridge.import_object import import_object
from agui_bridge.yaml_files.document import KeyPath, read_yaml

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


# --- which store a command works on: the one of `--store`, of the environment, or of a bridge ---

_TARGETS = click.argument("target", nargs=-1, metavar="[TARGET...]")


def target_or_store(command: click.decorators.FC) -> click.decorators.FC:
    """The argument `target` and the option `store`, one of which is needed: see `store_given`."""
    option = click.option(
        "--store",
        envvar="AGUI_BRIDGE_STORE",
        show_envvar=True,
        metavar="URL",
        help="Store, such as sqlite:///agents.db; wins over the one of TARGET.",
    )
    return _TARGETS(option(command))


def store_given(target: Sequence[str], store: str | None) -> str:
    """The address of the store that is meant.

    Args:
        target: names what `serve` takes, such as a configuration file, or nothing.
        store: the option, which the environment stands in for.

    Raises:
        ConfigurationError: the file or the module is wrong, or its store has no address.
        UsageError: nothing says which store.
    """
    if not target:
        if store is None:
            raise click.UsageError(
                "Say which store: name the configuration file, such as bridge.yaml, or give "
                "--store URL or AGUI_BRIDGE_STORE."
            )
        return store
    # A file's other faults are told as well: a command should not work on half of it.
    found = Target.of(target, shared_flags(store, None, None))
    if found.launch.store is not None:
        return found.launch.store
    made = found.bridge()
    if not isinstance(made.store, str):
        raise ConfigurationError(
            f"The store of {found.name} is made in code and has no address.\n"
            "Give its address with --store."
        )
    return made.store


def lasting_store(target: Sequence[str], store: str | None) -> str:
    """The same, for commands that read what servers wrote.

    Raises:
        ConfigurationError: as `store_given`; or it is `memory:`, of which a command sees nothing.
        UsageError: nothing says which store.
    """
    url = store_given(target, store)
    if url == "memory:":
        raise ConfigurationError(
            "The store is memory:, which only the server itself can see.\n"
            "Name the store that your servers share, such as --store sqlite:///agents.db."
        )
    return url
