"""What people say and tools return, between AG-UI's content and the Gemini API's parts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from google.adk.agents import LlmAgent
from google.adk.models import Gemini
from google.adk.workflow import BaseNode
from google.genai import types
from pydantic_core import to_jsonable_python

from agui_bridge.media import NO_HANDLES, Handles, left_out, media_of
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import Content
from agui_bridge_adk.nodes import in_tree

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


def handles_of(root: BaseNode) -> Handles:
    """The handles of files that all models of a tree of agents take: Gemini's, or none.

    The API has one member for them and for addresses, so that the part has to say whose it is.
    """
    agents = [node for node in in_tree(root) if isinstance(node, LlmAgent)]
    if not all(map(_is_gemini, agents)):
        return NO_HANDLES
    return Handles("google", frozenset({"image", "audio", "video", "document"}), named_only=True)


def gemini_in(root: BaseNode) -> set[str]:
    """Names of the agents of a tree whose models are Google's."""
    return {n.name for n in in_tree(root) if isinstance(n, LlmAgent) and _is_gemini(n)}


def models_in(root: BaseNode) -> set[str]:
    """Names of the agents of a tree whose calls a model makes, and ADK carries out."""
    return {n.name for n in in_tree(root) if isinstance(n, LlmAgent)}


def as_json(args: Mapping[str, Any] | None) -> dict[str, Json]:
    """Arguments as JSON: those of a workflow's nodes may be dates, models or anything else."""
    made: dict[str, Json] = to_jsonable_python(dict(args or {}), serialize_unknown=True)
    return made


def response_of(result: Json) -> dict[str, Any]:
    """A result as the API wants it: an object."""
    return dict(result) if isinstance(result, dict) else {"result": result}


def result_text(response: Any) -> str:
    """A tool's response as text: of a lone `result` or `error` what it says, else JSON.

    What a tool returns need be none; a model of Pydantic is told as its own JSON.
    """
    told: Any = {} if response is None else response
    if isinstance(told, Mapping) and set(told) in _SPOKEN:
        (told,) = told.values()
    if isinstance(told, str):
        return told
    return json.dumps(to_jsonable_python(told, by_alias=True, fallback=str), ensure_ascii=False)


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


def counted(usage: types.GenerateContentResponseUsageMetadata) -> dict[str, Any]:
    """Tokens as AG-UI counts them: of a total, what was thought and what was cached are parts."""
    given = (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0)
    thought, cached = usage.thoughts_token_count, usage.cached_content_token_count
    told = (usage.candidates_token_count or 0) + (thought or 0)
    counted = {"inputTokens": given, "outputTokens": told, "totalTokens": given + told}
    parts = {"reasoningTokens": thought, "cachedInputTokens": cached}
    return counted | {name: count for name, count in parts.items() if count is not None}
