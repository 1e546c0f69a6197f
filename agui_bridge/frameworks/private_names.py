"""What an adapter needs of its framework beyond the public API, checked once.

An adapter that replaces a method, or reads an attribute with an underscore, would go wrong in
silence once a new version renames it. So each such name is written down, and looked for when the
agent is added.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

from agui_bridge.errors import ConfigurationError

# --- the version of a framework that is installed, as pauses note it ---


@functools.cache
def installed_version(distribution: str) -> str:
    """The version of a distribution; it is looked up once, for that reads a file on the loop.

    Args:
        distribution: as pip names it, such as `strands-agents`.

    Raises:
        PackageNotFoundError: it is not installed.
    """
    return version(distribution)


@dataclass(frozen=True, slots=True)
class PrivateName:
    """One name.

    Attributes:
        owner: the module, class or object that has it.
        name: of the attribute.
        parameters: names of the parameters that it must take, for what is called or replaced.
    """

    owner: Any
    name: str
    parameters: tuple[str, ...] = ()

    def fault(self) -> str | None:
        """What is wrong with it; None if all is as it should be."""
        where = getattr(self.owner, "__qualname__", None) or getattr(
            self.owner, "__name__", type(self.owner).__qualname__
        )
        missing = object()
        found = inspect.getattr_static(self.owner, self.name, missing)
        if found is missing:
            return f"{where} has no {self.name}"
        if not self.parameters:
            return None
        taken = inspect.signature(getattr(self.owner, self.name)).parameters
        lacking = [one for one in self.parameters if one not in taken]
        return f"{where}.{self.name} takes no {lacking[0]}" if lacking else None


def expect_names(distribution: str, names: Iterable[PrivateName]) -> None:
    """Check that the installed framework has what its adapter needs.

    Args:
        distribution: the framework's, as pip names it, such as `strands-agents`.
        names: what is needed.

    Raises:
        ConfigurationError: something is missing or another; names the version installed and the
            versions that work.
    """
    fault = next(filter(None, (name.fault() for name in names)), None)
    if fault is not None:
        raise ConfigurationError(
            f"{distribution} {version(distribution)} is not one that the bridge knows: {fault}. "
            f"Install {_working(distribution)}."
        )


def _working(distribution: str) -> str:
    """The versions that the project's extras allow, such as `strands-agents>=1.62,<1.63`."""
    try:
        needed = requires("agui-bridge") or []
    except PackageNotFoundError:
        needed = []
    named = re.compile(rf"{re.escape(distribution)}\s*([<>=!~][^;]*)")
    bounds = next((found[1] for one in needed if (found := named.match(one))), None)
    if bounds is None:
        return f"another {distribution}"
    return distribution + ",".join(sorted(bounds.strip().split(","), reverse=True))
