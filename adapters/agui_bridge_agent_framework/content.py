"""What people say and tools return, between AG-UI's content and the framework's."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from agent_framework import Content

from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import Content as Said

__all__ = ["arguments_text", "as_result", "result_text", "user_contents"]

_ANY: Final = "application/octet-stream"


def user_contents(content: Said) -> list[Content]:
    """Content as a model is asked with it; parts that it can't be told are left out."""
    if isinstance(content, str):
        return [Content.from_text(content)] if content else []
    return list(_parts(content))


def arguments_text(arguments: Any) -> str:
    """Arguments, or a piece of them, as a model wrote them."""
    return arguments if isinstance(arguments, str) else json.dumps(dict(arguments or {}))


def result_text(content: Content) -> str:
    """What a tool returned, as text; of pictures that there are some."""
    told = content.result
    if isinstance(told, str) and told:
        return told
    others = [item.type for item in content.items or () if item.type != "text"]
    if told in (None, "") and others:
        return json.dumps(others)
    return "" if told is None else json.dumps(told, ensure_ascii=False, default=str)


def as_result(content: Content, told: Json) -> None:
    """Have a result say something else, for the model and in the history that holds it."""
    made = Content.from_function_result(content.call_id or "", result=told)
    content.result, content.items, content.exception = made.result, made.items, None


def _parts(content: list[dict[str, Any]]) -> Iterator[Content]:
    for part in content:
        if part.get("type") == "text":
            if text := str(part.get("text", "")):
                yield Content.from_text(text)
            continue
        source: Mapping[str, Any] = part.get("source") or _legacy(part)
        media_type = str(source.get("mimeType") or _ANY)
        if source.get("type") == "data":
            try:
                data = base64.b64decode(str(source.get("value")), validate=True)
            except (binascii.Error, ValueError):
                continue
            yield Content.from_data(data, media_type)
        elif source.get("type") == "url":
            yield Content.from_uri(str(source.get("value")), media_type=media_type)


def _legacy(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """The source of a part of type `binary`, as AG-UI 0.x has it."""
    for name in ("data", "url"):
        if part.get(name):
            return {"type": name, "value": part[name], "mimeType": part.get("mimeType")}
    return {}
