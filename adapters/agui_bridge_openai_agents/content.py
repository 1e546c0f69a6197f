"""What people say and tools return, between AG-UI's content and the Responses API's items."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel

from agui_bridge.media import Handles, Kind, left_out, media_of
from agui_bridge.protocol.turns import Content

UNREADABLE: Final = "The arguments of this tool call are no JSON object; it was not executed."
"""What the model is told of a call whose arguments can't be shown to anybody."""

_KINDS: Final[Mapping[Any, Kind]] = {"input_image": "image", "input_file": "document"}
_OPENAI: Final = Handles("openai", frozenset(_KINDS.values()))
_DETAIL: Final = {"input_image": {"detail": "auto"}}
_AUDIO: Final = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def user_content(content: Content) -> str | list[dict[str, Any]]:
    """Content as a model is asked with it; words stand for what it can't be told.

    Handles of OpenAI's stay: which model is asked turns out later (see `readable`).
    """
    return content if isinstance(content, str) else list(_parts(content))


def readable(items: Any, handles: Handles, told: set[str]) -> Any:
    """The items of a request, with words for the handles of files that its model doesn't take.

    Args:
        items: of the request, as the SDK has them.
        handles: those that the model takes.
        told: handles that the log tells of already; gets those that it does now.
    """
    if not isinstance(items, list):
        return items
    return [_readable(item, handles, told) for item in items]


def with_words(items: Any, words: str) -> list[Any]:
    """The items of a request, with words before what the user said last.

    Args:
        items: of the request, as the SDK has them, or the text that is all of it.
        words: what the application says.
    """
    told = [{"role": "user", "content": items}] if isinstance(items, str) else list(items)
    said = (n for n, one in enumerate(told) if isinstance(one, dict) and one.get("role") == "user")
    told.insert(max(said, default=len(told)), {"role": "user", "content": words})
    return told


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
        if part.get("type") == "text":
            yield {"type": "input_text", "text": str(part.get("text", ""))}
            continue
        media = media_of(part)
        if media.by == "data":
            url = f"data:{media.media_type or 'application/octet-stream'};base64,{media.value}"
        else:
            url = media.url or ""
        if handle := media.handle(_OPENAI):
            kind = "input_image" if media.kind == "image" else "input_file"
            yield {"type": kind, "file_id": handle, **_DETAIL.get(kind, {})}
        elif not url:
            yield {"type": "input_text", "text": left_out(media)}
        elif media.kind == "image":
            yield {"type": "input_image", "image_url": url, "detail": "auto"}
        elif media.by == "data" and media.media_type in _AUDIO:
            audio = {"data": media.value, "format": _AUDIO[media.media_type]}
            yield {"type": "input_audio", "input_audio": audio}
        elif media.by == "data":
            yield {"type": "input_file", "file_data": url, "filename": media.name or "file"}
        else:
            yield {"type": "input_file", "file_url": url}


def _readable(item: Any, handles: Handles, told: set[str]) -> Any:
    content = item.get("content") if isinstance(item, dict) and item.get("role") == "user" else None
    if not isinstance(content, list):
        return item
    parts = [_readable_part(part, handles, told) for part in content]
    # The same one, where nothing is other: the SDK may know it by its identity.
    same = all(one is other for one, other in zip(parts, content, strict=True))
    return item if same else {**item, "content": parts}


def _readable_part(part: Any, handles: Handles, told: set[str]) -> Any:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind not in _KINDS or not part.get("file_id") or _KINDS[kind] in handles.kinds:
        return part
    named = _KINDS[kind]
    source = {"type": "file", "value": part["file_id"]}
    is_new = part["file_id"] not in told
    told.add(part["file_id"])
    text = left_out(media_of({"type": named, "source": source}), log=is_new)
    return {"type": "input_text", "text": text}
