"""What people say and tools return, between AG-UI's content and the framework's."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any, Final

from agent_framework import Content, FunctionTool

from agui_bridge.media import NO_HANDLES, Handles, handles_at, left_out, media_of
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.turns import Content as Said

_ANY: Final = "application/octet-stream"


def user_contents(content: Said, handles: Handles) -> list[Content]:
    """Content as a model is asked with it; words stand for what it can't be told.

    Args:
        content: what was said.
        handles: the handles of files that the model takes.
    """
    if isinstance(content, str):
        return [Content.from_text(content)] if content else []
    return list(_parts(content, handles))


def handles_of(agent: Any) -> Handles:
    """The handles of files that an agent's model takes: the framework tells OpenAI's Responses."""
    client = getattr(agent, "client", None)
    responses = getattr(sys.modules.get("agent_framework_openai"), "RawOpenAIChatClient", None)
    if responses is None or not isinstance(client, responses):
        return NO_HANDLES
    return handles_at(client.service_url(), {"image", "document"})


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


def _parts(content: list[dict[str, Any]], handles: Handles) -> Iterator[Content]:
    for part in content:
        if part.get("type") == "text":
            if text := str(part.get("text", "")):
                yield Content.from_text(text)
            continue
        media = media_of(part)
        if (data := media.data) is not None:
            yield Content.from_data(data, media.media_type or _ANY)
        elif media.url:
            yield Content.from_uri(media.url, media_type=media.media_type or _ANY)
        elif handle := media.handle(handles):
            # By its type the framework knows a picture.
            media_type = media.media_type or ("image/*" if media.kind == "image" else None)
            yield Content.from_hosted_file(handle, media_type=media_type)
        else:
            yield Content.from_text(left_out(media))


def is_text_of(result: Any, value: Any) -> bool:
    """Whether a result is what the framework makes of a value that a tool returns.

    Args:
        result: as middleware finds it.
        value: any.
    """
    if not isinstance(result, list):
        return False
    made = FunctionTool.parse_result(value)
    return [one.to_dict() for one in result] == [one.to_dict() for one in made]
