"""The members of a question's metadata that are the bridge's own: `metadata.agui_bridge`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agui_bridge.protocol.threads.records import Json

__all__ = ["with_own"]


def with_own(metadata: Mapping[str, Json] | None, name: str, value: Json) -> dict[str, Any]:
    """Metadata with one member of ours more; what the agent and we said besides stays.

    Args:
        metadata: what there is.
        name: of the member in `agui_bridge`.
        value: what it says.
    """
    given = dict(metadata or {})
    ours = given.get("agui_bridge")
    given["agui_bridge"] = {**(ours if isinstance(ours, Mapping) else {}), name: value}
    return given
