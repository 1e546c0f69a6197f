"""What people say and tools return, between AG-UI's content and the content blocks of Strands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic_core import to_jsonable_python
from strands.types.session import decode_bytes_values, encode_bytes_values

from agui_bridge.media import left_out, media_of
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import Content

Block = dict[str, Any]
"""A content block, such as `{"text": …}` or `{"toolUse": …}`."""

_IMAGES: Final = {f"image/{name}": name for name in ("png", "jpeg", "gif", "webp")}
_VIDEOS: Final = {"video/mp4": "mp4", "video/quicktime": "mov", "video/webm": "webm"}
_OFFICE: Final = "application/vnd.openxmlformats-officedocument"
_DOCUMENTS: Final = {
    "application/pdf": "pdf",
    "application/msword": "doc",
    "application/vnd.ms-excel": "xls",
    f"{_OFFICE}.wordprocessingml.document": "docx",
    f"{_OFFICE}.spreadsheetml.sheet": "xlsx",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "md",
    "text/plain": "txt",
}
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9 ()\[\]-]+")


def to_json(value: Any) -> Any:
    """What Strands holds as JSON: bytes in base64, what has no such form as text."""
    return to_jsonable_python(encode_bytes_values(value), fallback=str)


def from_json(value: Any) -> Any:
    """What `to_json` was given, as a copy: Strands changes what it loads."""
    return decode_bytes_values(json.loads(json.dumps(value)))


def user_blocks(content: Content) -> list[Block]:
    """Content as a model is asked with it; words stand for what it can't be told."""
    if isinstance(content, str):
        return [{"text": content}] if content else []
    return list(_blocks(content))


def result_block(call: str, text: str, *, is_error: bool = False) -> Block:
    """The result of a call, for the model."""
    status = "error" if is_error else "success"
    return {"toolUseId": call, "status": status, "content": [{"text": text}]}


def result_text(result: Mapping[str, Any]) -> str:
    """A tool's result as text: what the model is told, media by their kind alone."""
    return "\n".join(map(_result_part, result.get("content") or ()))


def text_in(blocks: Iterable[Mapping[str, Any]]) -> str:
    """The texts among blocks."""
    return "".join(str(block["text"]) for block in blocks if "text" in block)


def _result_part(block: Mapping[str, Any]) -> str:
    if "text" in block:
        return str(block["text"])
    if "json" in block:
        return json.dumps(to_json(block["json"]), ensure_ascii=False)
    return f"[{next(iter(block), 'nothing')}]"


def _blocks(content: list[dict[str, Any]]) -> Iterator[Block]:
    for number, part in enumerate(content, 1):
        if part.get("type") == "text":
            if text := str(part.get("text", "")):
                yield {"text": text}
            continue
        media = media_of(part)
        if media.by == "url":
            # Its models take no addresses; some can open them with a tool.
            yield {"text": f"[{media.part}: {media.value}]"}
            continue
        data, media_type = media.data, media.media_type
        if data is not None and media_type in _IMAGES:
            yield {"image": {"format": _IMAGES[media_type], "source": {"bytes": data}}}
        elif data is not None and media_type in _VIDEOS:
            yield {"video": {"format": _VIDEOS[media_type], "source": {"bytes": data}}}
        elif data is not None and media_type in _DOCUMENTS:
            name = _NOT_IN_NAMES.sub(" ", media.name).strip()
            yield {
                "document": {
                    "format": _DOCUMENTS[media_type],
                    "name": name or f"document {number}",
                    "source": {"bytes": data},
                }
            }
        else:
            # Its messages have no place for a file's handle either.
            yield {"text": left_out(media)}


def text_of_json(value: Json) -> str:
    """A value as text for a model."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
