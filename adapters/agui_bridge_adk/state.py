"""A session's state as the thread's shared state: what of it clients see, and its changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import to_jsonable_python

from agui_bridge.protocol.threads.records import Json

__all__ = ["changes_of", "is_private", "is_temporary"]

_PRIVATE: Final = ("app:", "user:", "_adk")
_TEMPORARY: Final = "temp:"


def is_private(name: str) -> bool:
    """Whether it is ADK's, or meant for more than one conversation: no client sees or sets it."""
    return name.startswith((*_PRIVATE, _TEMPORARY))


def is_temporary(name: str) -> bool:
    """Whether it is gone when the run is over."""
    return name.startswith(_TEMPORARY)


def changes_of(delta: Mapping[str, Any]) -> dict[str, Json]:
    """What an event changed, as JSON; what has no such form by its name alone."""
    made: dict[str, Json] = to_jsonable_python(dict(delta), serialize_unknown=True)
    return {name: value for name, value in made.items() if not is_temporary(name)}
