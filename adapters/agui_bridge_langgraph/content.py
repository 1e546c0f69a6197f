"""What people, models and tools say, between AG-UI's content and LangChain's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from langchain_core.messages import AIMessage, ToolMessage
from pydantic_core import to_jsonable_python

from agui_bridge.media import left_out, media_of
from agui_bridge.protocol.turns import Content

_KINDS: Final[Mapping[str, str]] = {"image": "image", "audio": "audio", "video": "video"}
_ANY: Final = "application/octet-stream"


def user_content(content: Content) -> str | list[str | dict[Any, Any]]:
    """Content as a model is asked with it; words stand for what it can't be told."""
    return content if isinstance(content, str) else list(_blocks(content))


def said_in(message: AIMessage) -> tuple[str, str]:
    """The reasoning and the text of a message, whatever its provider's form."""
    thought, text = "", ""
    for block in message.content_blocks:
        kind: Any = block["type"]
        if kind == "text":
            text += str(block.get("text", ""))
        elif kind == "reasoning":
            thought += str(block.get("reasoning", ""))
        elif kind == "non_standard":
            # A model whose provider LangChain was not told.
            value: Any = block.get("value", {})
            thought += str(value.get("thinking", "")) if isinstance(value, Mapping) else ""
    return thought, text


def signature_in(message: AIMessage) -> str | None:
    """What a provider knows the reasoning of a message again by; None where it says nothing."""
    found: str | None = None
    for block in message.content_blocks:
        held: Any = block.get("value") if block["type"] == "non_standard" else block
        if isinstance(held, Mapping) and held.get("type") in ("reasoning", "thinking"):
            extras = held.get("extras")
            signature = extras.get("signature") if isinstance(extras, Mapping) else None
            told = signature or held.get("signature") or held.get("encrypted_content")
            found = told if isinstance(told, str) else found
    return found


def content_text(message: ToolMessage) -> str:
    """A tool's result as text; of blocks the texts, or all of it where there is none."""
    if isinstance(message.content, str):
        return message.content
    return str(message.text) or json.dumps(plain(message.content))


def plain(value: Any) -> Any:
    """A value as JSON."""
    return to_jsonable_python(value, fallback=str)


def read_arguments(text: str) -> Any:
    """The arguments of a call from their text; none of a text that is no JSON."""
    try:
        return json.loads(text or "{}")
    except ValueError:
        return {}


def _blocks(content: list[dict[str, Any]]) -> Iterator[str | dict[Any, Any]]:
    for part in content:
        if part.get("type") == "text":
            yield {"type": "text", "text": str(part.get("text", ""))}
            continue
        media = media_of(part)
        block: dict[Any, Any] = {"type": _KINDS.get(media.kind, "file")}
        if media.by == "data":
            yield {**block, "base64": media.value, "mime_type": media.media_type or _ANY}
        elif media.by == "url":
            told = {"mime_type": media.media_type} if media.media_type else {}
            yield {**block, "url": media.value, **told}
        else:
            # Whose models are in a graph nobody can see, so a file's handle may be anybody's.
            yield {"type": "text", "text": left_out(media)}
