"""What people say and tools return, between AG-UI's content and Agno's messages."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from agno.media import Audio, File, Image, Video

from agui_bridge.protocol.turns import Content, text_of

__all__ = ["result_text", "spoken"]


def spoken(content: Content) -> dict[str, Any]:
    """Content as members of Agno's `Message`; parts that it can't be told are left out."""
    said: dict[str, Any] = {"content": text_of(content)}
    for part in content if isinstance(content, list) else ():
        if part.get("type") == "text":
            continue
        source: Mapping[str, Any] = part.get("source") or _legacy(part)
        media_type = str(source.get("mimeType") or "")
        given = _given(source)
        if given is None:
            continue
        kind = str(part.get("type"))
        named = {"mime_type": media_type} if media_type else {}
        if "image" in (kind, media_type.partition("/")[0]):
            said.setdefault("images", []).append(Image(**given, **named))
        elif "audio" in (kind, media_type.partition("/")[0]):
            said.setdefault("audio", []).append(Audio(**given, **named))
        elif "video" in (kind, media_type.partition("/")[0]):
            said.setdefault("videos", []).append(Video(**given, **named))
        else:
            known = named if media_type in File.valid_mime_types() else {}
            said.setdefault("files", []).append(File(**given, **known))
    return said


def result_text(result: Any) -> str:
    """A result as text: as it is, else as JSON."""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


def _given(source: Mapping[str, Any]) -> dict[str, Any] | None:
    value = source.get("value")
    if not value:
        return None
    if source.get("type") == "url":
        return {"url": value}
    try:
        return {"content": base64.b64decode(str(value), validate=True)}
    except (binascii.Error, ValueError):
        return None


def _legacy(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """The source of a part of type `binary`, as AG-UI 0.x has it."""
    for name in ("data", "url"):
        if part.get(name):
            return {"type": name, "value": part[name], "mimeType": part.get("mimeType")}
    return {}
