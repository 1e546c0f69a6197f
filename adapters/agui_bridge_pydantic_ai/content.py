"""What people say, from AG-UI's content parts to pydantic-ai's."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    DocumentUrl,
    ImageUrl,
    UserContent,
    VideoUrl,
)

from agui_bridge.protocol.turns import Content

__all__ = ["user_content"]

_URLS: Final[Mapping[str, Any]] = {"image": ImageUrl, "audio": AudioUrl, "video": VideoUrl}
_ANY: Final = "application/octet-stream"


def user_content(content: Content) -> str | list[UserContent]:
    """Content as a model is asked with it; parts that it can't be told are left out."""
    return content if isinstance(content, str) else list(_parts(content))


def _parts(content: list[dict[str, Any]]) -> Iterator[UserContent]:
    for part in content:
        kind = part.get("type")
        if kind == "text":
            yield str(part.get("text", ""))
            continue
        source: Mapping[str, Any] = part.get("source") or _legacy(part)
        media_type = source.get("mimeType")
        if source.get("type") == "data":
            try:
                data = base64.b64decode(str(source.get("value")), validate=True)
            except (binascii.Error, ValueError):
                continue
            yield BinaryContent(data, media_type=media_type or _ANY)
        elif source.get("type") == "url":
            by = str(kind if kind in _URLS else media_type).partition("/")[0]
            yield _URLS.get(by, DocumentUrl)(str(source.get("value")), media_type=media_type)


def _legacy(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """The source of a part of type `binary`, as AG-UI 0.x has it."""
    kinds = {"data": "data", "url": "url"}
    for name, kind in kinds.items():
        if part.get(name):
            return {"type": kind, "value": part[name], "mimeType": part.get("mimeType")}
    return {}
