"""What people say and tools return, between AG-UI's content and the Gemini API's parts."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from google.genai import types

from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import Content

__all__ = ["response_of", "result_text", "user_parts"]

_ANY: Final = "application/octet-stream"
_SPOKEN: Final = ({"result"}, {"error"})


def user_parts(content: Content) -> list[types.Part]:
    """Content as a model is asked with it; parts that it can't be told are left out."""
    if isinstance(content, str):
        return [types.Part(text=content)] if content else []
    return list(_parts(content))


def response_of(result: Json) -> dict[str, Any]:
    """A result as the API wants it: an object."""
    return dict(result) if isinstance(result, dict) else {"result": result}


def result_text(response: Mapping[str, Any] | None) -> str:
    """A tool's response as text: of a lone `result` or `error` what it says, else JSON."""
    told: Any = dict(response or {})
    if set(told) in _SPOKEN:
        (told,) = told.values()
    return told if isinstance(told, str) else json.dumps(told, ensure_ascii=False, default=str)


def _parts(content: list[dict[str, Any]]) -> Iterator[types.Part]:
    for part in content:
        if part.get("type") == "text":
            if text := str(part.get("text", "")):
                yield types.Part(text=text)
            continue
        source: Mapping[str, Any] = part.get("source") or _legacy(part)
        media_type = str(source.get("mimeType") or _ANY)
        if source.get("type") == "data":
            try:
                data = base64.b64decode(str(source.get("value")), validate=True)
            except (binascii.Error, ValueError):
                continue
            yield types.Part(inline_data=types.Blob(data=data, mime_type=media_type))
        elif source.get("type") == "url":
            uri = str(source.get("value"))
            yield types.Part(file_data=types.FileData(file_uri=uri, mime_type=media_type))


def _legacy(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """The source of a part of type `binary`, as AG-UI 0.x has it."""
    for name in ("data", "url"):
        if part.get(name):
            return {"type": name, "value": part[name], "mimeType": part.get("mimeType")}
    return {}
