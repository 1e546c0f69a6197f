"""What people say, from AG-UI's content parts to LangChain's content blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from agui_bridge.protocol.turns import Content

__all__ = ["user_content"]

_KINDS: Final[Mapping[str, str]] = {"image": "image", "audio": "audio", "video": "video"}
_ANY: Final = "application/octet-stream"


def user_content(content: Content) -> str | list[str | dict[Any, Any]]:
    """Content as a model is asked with it; parts that it can't be told are left out."""
    return content if isinstance(content, str) else list(_blocks(content))


def _blocks(content: list[dict[str, Any]]) -> Iterator[str | dict[Any, Any]]:
    for part in content:
        kind = part.get("type")
        if kind == "text":
            yield {"type": "text", "text": str(part.get("text", ""))}
            continue
        source: Mapping[str, Any] = part.get("source") or _legacy(part)
        media_type = str(source.get("mimeType") or "")
        by = str(kind if kind in _KINDS else media_type).partition("/")[0]
        block: dict[Any, Any] = {"type": _KINDS.get(by, "file")}
        if source.get("type") == "data":
            yield {**block, "base64": source.get("value"), "mime_type": media_type or _ANY}
        elif source.get("type") == "url":
            told = {"mime_type": media_type} if media_type else {}
            yield {**block, "url": source.get("value"), **told}


def _legacy(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """The source of a part of type `binary`, as AG-UI 0.x has it."""
    for name in ("data", "url"):
        if part.get(name):
            return {"type": name, "value": part[name], "mimeType": part.get("mimeType")}
    return {}
