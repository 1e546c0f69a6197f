"""What people say and tools return, between AG-UI's content and the Gemini API's parts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.models import Gemini
from google.genai import types

from agui_bridge.media import NO_HANDLES, Handles, left_out, media_of
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import Content

__all__ = ["handles_of", "response_of", "result_text", "user_parts"]

_ANY: Final = "application/octet-stream"
_SPOKEN: Final = ({"result"}, {"error"})


def user_parts(content: Content, handles: Handles) -> list[types.Part]:
    """Content as a model is asked with it; words stand for what it can't be told.

    Args:
        content: what was said.
        handles: the handles of files that the models take.
    """
    if isinstance(content, str):
        return [types.Part(text=content)] if content else []
    return list(_parts(content, handles))


def handles_of(root: BaseAgent) -> Handles:
    """The handles of files that all models of a tree of agents take: Gemini's, or none.

    The API has one member for them and for addresses, so that the part has to say whose it is.
    """
    agents = [root]
    for agent in agents:
        agents += agent.sub_agents
        if isinstance(agent, LlmAgent) and not _is_gemini(agent):
            return NO_HANDLES
    return Handles("google", frozenset({"image", "audio", "video", "document"}), named_only=True)


def response_of(result: Json) -> dict[str, Any]:
    """A result as the API wants it: an object."""
    return dict(result) if isinstance(result, dict) else {"result": result}


def result_text(response: Mapping[str, Any] | None) -> str:
    """A tool's response as text: of a lone `result` or `error` what it says, else JSON."""
    told: Any = dict(response or {})
    if set(told) in _SPOKEN:
        (told,) = told.values()
    return told if isinstance(told, str) else json.dumps(told, ensure_ascii=False, default=str)


def _is_gemini(agent: LlmAgent) -> bool:
    try:
        return isinstance(agent.canonical_model, Gemini)
    except (ImportError, ValueError):
        # ADK says what is wrong with a model's name once it asks the model.
        return False


def _parts(content: list[dict[str, Any]], handles: Handles) -> Iterator[types.Part]:
    for part in content:
        if part.get("type") == "text":
            if text := str(part.get("text", "")):
                yield types.Part(text=text)
            continue
        media = media_of(part)
        if (data := media.data) is not None:
            blob = types.Blob(data=data, mime_type=media.media_type or _ANY)
            yield types.Part(inline_data=blob)
        elif media.url:
            file = types.FileData(file_uri=media.url, mime_type=media.media_type or _ANY)
            yield types.Part(file_data=file)
        elif handle := media.handle(handles):
            # Of a file of its own the provider knows the type.
            file = types.FileData(file_uri=handle, mime_type=media.media_type or None)
            yield types.Part(file_data=file)
        else:
            yield types.Part(text=left_out(media))
