"""What the bridge notes on messages and questions of its own accord: `metadata.agui_bridge`.

Members of a message's: `actor` (who sent it, where that is not who began the thread), `takenBack`
(calls that were executed and left the context with what was said before it), `readOnly` (ids of
calls that only look), `action` (what a person did in a page, told as a message), `initial` (the
application had the agent say it before the thread began), `archived` (no agent is sent it),
`truncated`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = [
    "actor_of",
    "own_of",
    "with_own",
    "with_own_member",
    "without_own",
    "without_own_member",
]


def own_of(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the bridge has noted on a message."""
    metadata = message.get("metadata")
    own = metadata.get("agui_bridge") if isinstance(metadata, Mapping) else None
    return own if isinstance(own, Mapping) else {}


def actor_of(message: Mapping[str, Any]) -> str | None:
    """Who sent a message, where it names them."""
    actor = own_of(message).get("actor")
    return actor if isinstance(actor, str) else None


def with_own(metadata: object, name: str, value: Any) -> dict[str, Any]:
    """Metadata with one note more; what the agent and the bridge said besides stays.

    Args:
        metadata: what there is; what is no object counts as nothing.
        name: of the member in `agui_bridge`.
        value: what it says.
    """
    given = dict(metadata) if isinstance(metadata, Mapping) else {}
    return {**given, "agui_bridge": {**own_of({"metadata": given}), name: value}}


def without_own(message: dict[str, Any]) -> dict[str, Any]:
    """A client's message without what it claims that the bridge has noted."""
    metadata = message.get("metadata")
    if not isinstance(metadata, Mapping) or "agui_bridge" not in metadata:
        return message
    left = {name: value for name, value in metadata.items() if name != "agui_bridge"}
    kept = {name: value for name, value in message.items() if name != "metadata"}
    return {**kept, "metadata": left} if left else kept


def with_own_member(message: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    """A message with one note more."""
    return {**message, "metadata": with_own(message.get("metadata"), name, value)}


def without_own_member(message: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A message with one note less."""
    own = {key: value for key, value in own_of(message).items() if key != name}
    plain = without_own(dict(message))
    if not own:
        return plain
    return {**plain, "metadata": {**plain.get("metadata", {}), "agui_bridge": own}}
