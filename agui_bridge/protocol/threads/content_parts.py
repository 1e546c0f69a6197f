"""The parts of a user's message, or of a tool's: those of 1.0, those of before, those of later.

A part of a type that is not known makes no input invalid: it is kept, told to clients and to
adapters as it came, and left out where the types of 1.0 are wanted. The `binary` part of 0.x is
made into the one of 1.0, as the official client does.

Source: AG-UI 1.0, run input; its deprecations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ag_ui.core import Message
from pydantic import TypeAdapter

# --- what the bridge notes on messages and questions of its own accord: `metadata.agui_bridge` ---
#
# Members of a message's: `actor` (who sent it, where that is not who began the thread), `takenBack`
# (calls that were executed and left the context with what was said before it), `readOnly` (ids of
# calls that only look), `action` (what a person did in a page, told as a message), `initial` (the
# application had the agent say it before the thread began), `archived` (no agent is sent it),
# `truncated`.


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


_MESSAGES: Final[TypeAdapter[list[Message]]] = TypeAdapter(list[Message])

KNOWN_PARTS: Final = frozenset({"text", "image", "audio", "video", "document"})
"""The types of parts that AG-UI 1.0 has."""


def is_unknown_part(part: Any) -> bool:
    """Whether it is a part, but of a type that 1.0 does not have."""
    return (
        isinstance(part, dict)
        and isinstance(part.get("type"), str)
        and part["type"] not in KNOWN_PARTS
    )


def file_name(part: Mapping[str, Any]) -> str:
    """The name of a part's file, in its metadata or, as 0.x has it, in itself; "" if none."""
    metadata = part.get("metadata")
    found = metadata.get("filename") if isinstance(metadata, Mapping) else None
    name = found or part.get("filename")
    return name if isinstance(name, str) else ""


def upgrade_parts(message: Any) -> Any:
    """A message whose `binary` parts have the shape of 1.0; the message itself if it has none.

    One that has neither data nor address, but an id, has no such shape: it stays as it is.
    """
    parts = _parts_of(message)
    if not any(isinstance(part, dict) and part.get("type") == "binary" for part in parts):
        return message
    return {**message, "content": [_upgraded(part) for part in parts]}


def _upgraded(part: Any) -> Any:
    if not isinstance(part, dict) or part.get("type") != "binary":
        return part
    media = part.get("mimeType")
    for member, kind in (("data", "data"), ("url", "url")):
        value = part.get(member)
        if isinstance(media, str) and isinstance(value, str) and value:
            group = media.partition("/")[0]
            made: dict[str, Any] = {
                "type": group if group in ("image", "audio", "video") else "document",
                "source": {"type": kind, "value": value, "mimeType": media},
            }
            if isinstance(name := part.get("filename"), str) and name:
                made["metadata"] = {"filename": name}
            return made
    return part


def without_unknown_parts(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message with the parts that 1.0 has; the message itself if it has no others."""
    parts = _parts_of(message)
    if not any(map(is_unknown_part, parts)):
        return message
    return {**message, "content": [part for part in parts if not is_unknown_part(part)]}


def known_messages(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Stored messages as AG-UI's types, without the parts that these don't have."""
    return _MESSAGES.validate_python([without_unknown_parts(message) for message in messages])


def with_unknown_parts(message: dict[str, Any], sent: Mapping[str, Any]) -> dict[str, Any]:
    """A message that was validated without its unknown parts, with them where they were.

    Args:
        message: what was made of `without_unknown_parts`, with as many parts.
        sent: the message as it came.
    """
    parts = _parts_of(sent)
    if not any(map(is_unknown_part, parts)):
        return message
    known = iter(message["content"])
    return {
        **message,
        "content": [part if is_unknown_part(part) else next(known) for part in parts],
    }


def _parts_of(message: Any) -> list[Any]:
    if not isinstance(message, Mapping) or message.get("role") not in ("user", "tool"):
        return []
    content = message.get("content")
    return content if isinstance(content, list) else []
