"""Chunks that AG-UI has no event of its own for: CUSTOM, without what is Mastra's alone."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from ag_ui.core import CustomEvent

from agui_bridge_mastra.chunks.native import without_ids, without_native
from agui_bridge_mastra.chunks.place import Place
from agui_bridge_mastra.http_client import Chunk

logger: Final = logging.getLogger("agui_bridge")

_SILENT: Final = frozenset(
    {
        "start",
        "step-start",
        "step-finish",
        "response-metadata",
        "raw",
        "object",
        "reasoning-signature",
        "redacted-reasoning",
        "routing-agent-end",
        "network-validation-start",
        "network-validation-end",
        "network-object",
        "workflow-execution-start",
        "workflow-execution-end",
    }
)
"""Chunks that say nothing which another event does not say: beginnings and ends of steps, parts of
an object that comes whole, and what passes between Mastra and the model's provider."""

_KNOWN: Final = frozenset(
    {
        "source",
        "file",
        "reasoning-file",
        "custom",
        "goal",
        "is-task-complete",
        "object-result",
        "step-output",
        "watch",
    }
)
_FRAME: Final = ("type", "runId", "from", "payload", "metadata")


def custom_events(chunk: Chunk, at: Place) -> Iterator[CustomEvent]:
    """The event of a chunk, if it says anything; one of an unknown type is logged once."""
    kind = str(chunk.get("type"))
    if kind in _SILENT:
        return
    if kind.startswith("data-"):
        # What a tool's author wrote is passed on as it is, but for ids.
        value = without_ids({k: chunk[k] for k in ("id", "data", "transient") if k in chunk})
    else:
        if kind not in _KNOWN:
            note_unknown(kind)
        rest = {name: item for name, item in chunk.items() if name not in _FRAME}
        value = without_native(chunk.get("payload") or rest)
    yield CustomEvent(name=f"mastra:{kind}", value=value, subagent_run_id=at.subagent)


def note_unknown(kind: str) -> None:
    """Log that chunks of this type are new to the adapter."""
    log_once(kind, "is of a type that this adapter does not know")


def note_unreadable(chunk: Chunk, error: Exception) -> None:
    """Log that a chunk of a known type has not the shape that it should have."""
    log_once(str(chunk.get("type")), f"has an unknown shape ({type(error).__name__})")


@lru_cache(maxsize=256)
def log_once(kind: str, what: str) -> None:
    """Tell of an unknown chunk, once for each kind."""
    logger.warning("a chunk %.100r of Mastra's %s: its version may be newer", kind, what)
