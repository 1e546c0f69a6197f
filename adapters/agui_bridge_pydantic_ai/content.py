"""What people say, from AG-UI's content parts to pydantic-ai's."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    DocumentUrl,
    ImageUrl,
    UploadedFile,
    UserContent,
    VideoUrl,
)
from pydantic_ai.models.wrapper import WrapperModel

from agui_bridge.media import NO_HANDLES, Handles, handles_at, left_out, media_of
from agui_bridge.protocol.turns import Content

_URLS: Final[Mapping[str, Any]] = {"image": ImageUrl, "audio": AudioUrl, "video": VideoUrl}
_ANY: Final = "application/octet-stream"


def user_content(content: Content, handles: Handles) -> str | list[UserContent]:
    """Content as a model is asked with it; words stand for what it can't be told.

    Args:
        content: what was said.
        handles: the handles of files that the model takes.
    """
    return content if isinstance(content, str) else list(_parts(content, handles))


def handles_of(model: Any) -> Handles:
    """The handles of files that a model takes: of the providers' own, OpenAI's are known.

    Args:
        model: an agent's.
    """
    while isinstance(model, WrapperModel):
        model = model.wrapped
    openai = sys.modules.get("pydantic_ai.models.openai")
    if openai is None or getattr(model, "system", None) != "openai":
        return NO_HANDLES
    if isinstance(model, openai.OpenAIResponsesModel):
        return handles_at(model.base_url, {"image", "document"})
    if isinstance(model, openai.OpenAIChatModel):
        # The API has no member for a picture's handle.
        return handles_at(model.base_url, {"document"})
    return NO_HANDLES


def _parts(content: list[dict[str, Any]], handles: Handles) -> Iterator[UserContent]:
    for part in content:
        if part.get("type") == "text":
            yield str(part.get("text", ""))
            continue
        media = media_of(part)
        media_type = media.media_type or None
        if (data := media.data) is not None:
            yield BinaryContent(data, media_type=media_type or _ANY)
        elif media.url:
            yield _URLS.get(media.kind, DocumentUrl)(media.url, media_type=media_type)
        elif handle := media.handle(handles):
            # By its type the framework knows a picture.
            known = media_type or ("image/*" if media.kind == "image" else None)
            yield UploadedFile(handle, "openai", media_type=known)
        else:
            yield left_out(media)
