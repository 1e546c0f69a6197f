"""Modules of a test's own, whatever has been imported under their names before."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import ModuleType

__all__ = ["importing_own"]


def _taken(names: tuple[str, ...]) -> dict[str, ModuleType]:
    found = [name for name in sys.modules if name.partition(".")[0] in names]
    return {name: sys.modules.pop(name) for name in found}


@contextlib.contextmanager
def importing_own(*names: str) -> Iterator[None]:
    """Let these names be imported anew, and put back afterwards what had them before.

    The OpenAI Agents SDK is called `agents`, as is the file that the README tells people to write.

    Args:
        names: top-level modules; what lies below a package goes and comes with it.
    """
    before = _taken(names)
    try:
        yield
    finally:
        _taken(names)
        sys.modules.update(before)
