"""What people say and tools return, between AG-UI's content and the Responses API's items."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel

from agui_bridge.protocol.threads.content_parts import file_name
from agui_bridge.protocol.turns import Content

__all__ = ["UNREADABLE", "arguments_of", "output_text", "user_content"]

UNREADABLE: Final = "The arguments of this tool call are no JSON object; it was not executed."
"""What the model is told of a call whose arguments can't be shown to anybody."""

_AUDIO: Final = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def user_content(content: Content) -> str | list[dict[str, Any]]:
    """Content as a model is asked with it; parts that it can't be told are left out."""
    return content if isinstance(content, str) else list(_parts(content))


def output_text(output: Any) -> str:
    """A tool's output as text: what the SDK tells the model of it, media by their kind alone."""
    if isinstance(output, str):
        return output
    if isinstance(output, list | tuple):
        return "\n".join(map(output_text, output))
    part = output.model_dump(exclude_none=True) if isinstance(output, BaseModel) else output
    kind = str(part.get("type", "")) if isinstance(part, dict) else ""
    if kind in ("text", "input_text"):
        return str(part.get("text", ""))
    if kind in ("image", "input_image", "file", "input_file"):
        return f"[{kind.removeprefix('input_')}]"
    return str(output)


def arguments_of(text: str | None) -> dict[str, Any] | None:
    """The arguments that a model gave as JSON; None where they are no object."""
    if not text:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _parts(content: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for part in content:
        kind = part.get("type")
        if kind == "text":
            yield {"type": "input_text", "text": str(part.get("text", ""))}
            continue
        source: Mapping[str, Any] = part.get("source") or _legacy(part)
        value, media_type = source.get("value"), str(source.get("mimeType") or "")
        if not value:
            continue
        is_data = source.get("type") == "data"
        url = (
            f"data:{media_type or 'application/octet-stream'};base64,{value}" if is_data else value
        )
        if kind == "image" or media_type.startswith("image/"):
            yield {"type": "input_image", "image_url": url, "detail": "auto"}
        elif is_data and media_type in _AUDIO:
            audio = {"data": value, "format": _AUDIO[media_type]}
            yield {"type": "input_audio", "input_audio": audio}
        elif is_data:
            yield {"type": "input_file", "file_data": url, "filename": file_name(part) or "file"}
        else:
            yield {"type": "input_file", "file_url": url}


def _legacy(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """The source of a part of type `binary`, as AG-UI 0.x has it."""
    for name in ("data", "url"):
        if part.get(name):
            return {"type": name, "value": part[name], "mimeType": part.get("mimeType")}
    return {}
