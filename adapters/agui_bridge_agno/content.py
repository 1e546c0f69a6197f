"""What people say and tools return, between AG-UI's content and Agno's messages."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from agno.media import Audio, File, Image, Video

from agui_bridge.frameworks.private_names import PrivateName, expect_names
from agui_bridge.media import NO_HANDLES, Handles, handles_at, left_out, media_of
from agui_bridge.protocol.turns import Content
from agui_bridge_agno.guard import AGNO

_MEMBERS: Final[Mapping[str, tuple[str, Callable[..., Any]]]] = {
    "image": ("images", Image),
    "audio": ("audio", Audio),
    "video": ("videos", Video),
}


def spoken(content: Content, handles: Handles) -> dict[str, Any]:
    """Content as members of Agno's `Message`; words stand for what a model can't be told.

    Args:
        content: what was said.
        handles: the handles of files that the model takes.
    """
    if isinstance(content, str):
        return {"content": content}
    texts: list[str] = []
    said: dict[str, Any] = {}
    for part in content:
        if part.get("type") == "text":
            texts.append(str(part.get("text", "")))
            continue
        media = media_of(part)
        handle = media.handle(handles)
        given: dict[str, Any] = {"id": handle} if handle else {}
        if media.url:
            given = {"url": media.url}
        elif data := media.data:
            given = {"content": data}
        named = {"mime_type": media.media_type} if media.media_type else {}
        if not given or (handle and not _is_told(handle)):
            texts.append(left_out(media))
        elif media.kind != "document":
            member, made = _MEMBERS[media.kind]
            said.setdefault(member, []).append(made(**given, **named))
        else:
            known = named if media.media_type in File.valid_mime_types() else {}
            said.setdefault("files", []).append(File(**given, **known))
    return {"content": "".join(texts), **said}


def handles_of(model: Any) -> Handles:
    """The handles of files that a model takes: Agno has a place for those of OpenAI's Responses."""
    if _responses() is None or not isinstance(model, _responses()):
        return NO_HANDLES
    expect_names(AGNO, [PrivateName(_responses(), "_format_file_for_input")])
    return handles_at(model.get_async_client().base_url, {"document"})


def result_text(result: Any) -> str:
    """A result as text: as it is, else as JSON."""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


def _responses() -> Any:
    """Agno's class of OpenAI's Responses; None where nobody has imported it."""
    return getattr(sys.modules.get("agno.models.openai.responses"), "OpenAIResponses", None)


def _is_told(handle: str) -> bool:
    """Whether Agno itself tells a model of a handle: it leaves out some without a word."""
    return _responses()._format_file_for_input(File(id=handle)) is not None
