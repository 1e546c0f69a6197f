"""A session's state as the thread's shared state: what of it clients see, and its changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from google.adk.agents import RunConfig
from pydantic_core import to_jsonable_python

from agui_bridge.adapters import Run
from agui_bridge.frameworks.forwarded import FORWARDED
from agui_bridge.protocol.threads.records import Json

CONTEXT: Final = "_ag_ui_context"
"""Where tools and instructions find the application's context: ag_ui_adk has it there."""

_METADATA: Final = "ag_ui_context"
_PRIVATE: Final = ("app:", "user:", "_adk", "_ag_ui")
_TEMPORARY: Final = "temp:"


def is_private(name: str) -> bool:
    """Whether it is ADK's, or meant for more than one conversation: no client sees or sets it."""
    return name.startswith((*_PRIVATE, _TEMPORARY))


def shown_context(run: Run) -> list[Json]:
    """The application's context, as tools find it."""
    return [
        {"description": entry.description, "value": entry.value}
        for entry in run.input.context or ()
    ]


def with_context(config: RunConfig, context: Sequence[Json]) -> RunConfig:
    """How ADK runs an agent, with the application's context in the metadata.

    Args:
        config: stays as it is.
        context: see `shown_context`.
    """
    if not context:
        return config
    metadata = {**(config.custom_metadata or {}), _METADATA: [*context]}
    return config.model_copy(update={"custom_metadata": metadata})


def without_context(event: dict[str, Any]) -> None:
    """Take off an event what a page gave: ADK marks what a user said with all metadata."""
    metadata = event.get("customMetadata") or {}
    for name in (_METADATA, FORWARDED):
        metadata.pop(name, None)
    if not metadata:
        event.pop("customMetadata", None)


def is_temporary(name: str) -> bool:
    """Whether it is gone when the run is over."""
    return name.startswith(_TEMPORARY)


def changes_of(delta: Mapping[str, Any]) -> dict[str, Json]:
    """What an event changed, as JSON; what has no such form by its name alone."""
    made: dict[str, Json] = to_jsonable_python(dict(delta), serialize_unknown=True)
    return {name: value for name, value in made.items() if not is_temporary(name)}
