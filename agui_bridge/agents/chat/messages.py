"""Turns of a conversation as chat completions want them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from agui_bridge.media import Handles, Media, left_out, media_of
from agui_bridge.protocol.turns import CalledTool, Content, Turn, text_of

__all__ = ["ChatMessage", "call_message", "chat_messages", "edited_result", "reply_message"]

ChatMessage = dict[str, Any]
"""One message of a chat-completions request."""

_NO_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME: Final = 64
_AUDIO: Final[Mapping[str, str]] = {
    **dict.fromkeys(("audio/wav", "audio/wave", "audio/x-wav", "audio/vnd.wave"), "wav"),
    **dict.fromkeys(("audio/mpeg", "audio/mp3"), "mp3"),
}
"""The formats that chat completions take, by media type."""
_EDITED: Final = "The user changed the arguments, which were {}. {}"


def chat_messages(
    turns: Sequence[Turn], names: Collection[str], handles: Handles
) -> list[ChatMessage]:
    """Write turns as messages: a reply's text and calls are one, and its results follow.

    Args:
        turns: of the conversation, in order.
        names: the tools that the model is offered.
        handles: the handles of files that the model takes.
    """
    return [message for turn in turns for message in _messages(turn, names, handles)]


def call_message(call_id: str, name: str, arguments: str, names: Collection[str]) -> ChatMessage:
    """One tool call within an assistant's message.

    Args:
        call_id: its id.
        name: the tool.
        arguments: a JSON object as text.
        names: the tools that the model is offered.
    """
    if name not in names:
        # A model may make up any name, and servers refuse conversations with those that can't be.
        name = _NO_NAME.sub("_", name)[:_LONGEST_NAME] or "unknown"
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def edited_result(proposed: str | None, result: str) -> str:
    """What the model reads of a call whose arguments may be others than it wrote.

    Args:
        proposed: those that it wrote, None where they are the same.
        result: what came of the call.
    """
    return result if proposed is None else _EDITED.format(proposed, result)


def reply_message(text: str, calls: Sequence[ChatMessage], reasoning: str) -> ChatMessage:
    """The assistant's message of a reply that calls tools, for the next reply of the same turn.

    Args:
        text: what it says.
        calls: see `call_message`.
        reasoning: what the server told of the model's thoughts; one that does wants it back.
    """
    message: ChatMessage = {"role": "assistant", "content": text or None, "tool_calls": list(calls)}
    return {**message, "reasoning_content": reasoning} if reasoning else message


def _messages(turn: Turn, names: Collection[str], handles: Handles) -> Iterator[ChatMessage]:
    if turn.role == "user":
        if content := _user_content(turn.content, handles):
            yield {"role": "user", "content": content}
        return
    message: ChatMessage = {"role": turn.role, "content": text_of(turn.content)}
    if turn.calls:
        message["tool_calls"] = [call_message(c.id, c.name, c.arguments, names) for c in turn.calls]
        message["content"] = message["content"] or None
    yield message
    yield from map(_result, turn.calls)


def _result(call: CalledTool) -> ChatMessage:
    text = edited_result(call.proposed, text_of(call.result))
    return {"role": "tool", "tool_call_id": call.id, "content": text}


def _user_content(content: Content, handles: Handles) -> str | list[dict[str, Any]]:
    """Text, or of a content in parts each as chat completions take it."""
    return content if isinstance(content, str) else [_user_part(part, handles) for part in content]


def _user_part(part: Mapping[str, Any], handles: Handles) -> dict[str, Any]:
    """One part: text, an image, audio of a format that they have, a file; else words about it."""
    if part.get("type") == "text":
        return {"type": "text", "text": part["text"]}
    media = media_of(part)
    if media.part == "image" and media.by in ("data", "url"):
        return {"type": "image_url", "image_url": {"url": _address(media)}}
    audio = _AUDIO.get(media.media_type.partition(";")[0].strip().lower())
    if media.part == "audio" and media.by == "data" and audio is not None:
        return {"type": "input_audio", "input_audio": {"data": media.value, "format": audio}}
    if handle := media.handle(handles):
        return {"type": "file", "file": {"file_id": handle}}
    return {"type": "text", "text": left_out(media)}


def _address(media: Media) -> str:
    return media.url or f"data:{media.media_type};base64,{media.value}"
