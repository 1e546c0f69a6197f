"""The adapters that installed packages offer, ours and third parties', by their entry points."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from agui_bridge.errors import ConfigurationError

ENTRY_POINTS = "agui_bridge.adapters"
"""The entry-point group by which adapters, ours and third parties', are found."""


FRAMEWORKS = "agui_bridge.frameworks"
"""The entry-point group by which the adapter of a framework's object is found.

Each is named after a module of the framework, such as `pydantic_ai`; its class takes the object.
The class is in the other group, too, under the name of the adapter."""


@dataclass(frozen=True, slots=True)
class InstalledAdapter:
    """An adapter that some installed package offers.

    Attributes:
        name: its name in the entry-point group.
        package: the distribution that brings it.
        missing: the command that installs what it lacks, None when it can be used.
    """

    name: str
    package: str
    missing: str | None


def installed_adapters() -> list[InstalledAdapter]:
    """List the adapters that are registered, usable or not, by name."""
    found = []
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        missing: str | None = None
        try:
            load_adapter(entry.name)
        except ConfigurationError:
            missing = _install_command(entry)
        found.append(InstalledAdapter(entry.name, _package(entry), missing))
    return found


def load_adapter(name: str) -> Any:
    """Load an adapter's class by its name.

    Raises:
        ConfigurationError: nothing of that name is installed, or its framework is not; the
            message has the command that installs it.
    """
    known = {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}
    if name not in known:
        names = ", ".join(sorted(known)) or "none"
        raise ConfigurationError(f"There is no adapter {name!r}; installed are: {names}.")
    return _load(known[name])


def adapter_of(found: object) -> Any:
    """Make the adapter of a framework's object, by the module of its class; None if none is known.

    No framework is imported to find out.

    Args:
        found: what may be a framework's agent.

    Raises:
        ConfigurationError: the adapter lacks a package; the message has the command that installs
            it.
    """
    modules = [base.__module__ + "." for base in type(found).__mro__]
    # A part of a framework may have an adapter of its own.
    known = sorted(entry_points(group=FRAMEWORKS), key=lambda entry: -entry.name.count("."))
    for entry in known:
        if any(module.startswith(entry.name + ".") for module in modules):
            return _load(entry)(found)
    return None


def _load(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except ImportError as error:
        raise ConfigurationError(
            f"The adapter {entry.name!r} lacks a package ({error.name or error}). "
            f"Install it: {_install_command(entry)}"
        ) from error


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "unknown"


def _install_command(entry: EntryPoint) -> str:
    package = _package(entry)
    adapters = (one.name for one in entry_points(group=ENTRY_POINTS) if one.value == entry.value)
    name = next(adapters, entry.name)
    extra = f"[{name.replace('_', '-')}]" if package == "agui-bridge" else ""
    return f'pip install "{package}{extra}"'
