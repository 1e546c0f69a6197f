"""An OpenAI-compatible chat-completions endpoint: one reply, streamed, and how it fails."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from openai.types.chat import ChatCompletionChunk

from agui_bridge.errors import ConfigurationError, NotDelivered, UpstreamError
from agui_bridge.event_loops import PerLoop
from agui_bridge.media import Handles, Media, handles_at, left_out, media_of
from agui_bridge.protocol.turns import CalledTool, Content, Turn, text_of

# --- turns of a conversation as chat completions want them ---

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


# --- the endpoint ---

try:
    import openai
except ModuleNotFoundError as error:
    if error.name != "openai":
        raise
    raise ModuleNotFoundError(
        'Agents that are a chat model need a package: pip install "agui-bridge[openai]"',
        name="openai",
    ) from None


_HINTS: Final[Mapping[int, str]] = {
    400: "It may not take what the message holds, know the model, or take an option of it.",
    401: "Check OPENAI_API_KEY.",
    403: "Check OPENAI_API_KEY, and that it may use this model.",
    404: "Check OPENAI_BASE_URL and the model's name.",
    413: "The conversation is too long for it.",
    429: "It is busy, or the quota is used up: try again later.",
}
_CONNECT_SECONDS: Final = 10.0
_OWN: Final = frozenset({"messages", "model", "stream", "tools"})

_FAILURES: Final[tuple[type[Exception], ...]] = (
    openai.OpenAIError,
    *(import_module(name).HTTPError for name in ("httpx", "httpx2") if find_spec(name)),
    *(ValueError, TypeError),
)
"""The client lets what breaks a stream through as it is: errors of the HTTP library that its
version uses, and those of a chunk that is no JSON, or no object."""


class ChatEndpoint:
    """A model, and where it is.

    Args:
        model: its name at the endpoint.
        base_url: of the endpoint; by default OPENAI_BASE_URL, or OpenAI's own.
        api_key: by default OPENAI_API_KEY; an endpoint that needs none gets a word of no meaning.
        timeout: seconds that the model may be silent.
        retries: how often a request is tried again that failed before its first token.
        options: members of the request besides, such as `temperature`; also those that only this
            server knows.

    Attributes:
        handles: the handles of files that it takes.

    Raises:
        ConfigurationError: the model has no name, an option is what the agent itself sends, or
            the client can't be made.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 120.0,
        retries: int = 2,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if not model:
            raise ConfigurationError("A chat agent needs the name of its model.")
        self.model = model
        self._options = dict(options or {})
        if own := sorted(_OWN & set(self._options)):
            raise ConfigurationError(f"The agent itself sends {', '.join(own)}: no options.")
        make = partial(
            openai.AsyncOpenAI,
            base_url=base_url or None,
            api_key=api_key or os.environ.get("OPENAI_API_KEY") or "none",
            timeout=openai.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)),
            max_retries=retries,
        )
        # Connections belong to the loop that opened them, and an agent outlives loops: each test
        # and each `resume_sync` has its own.
        self._clients: PerLoop[openai.AsyncOpenAI] = PerLoop(make, openai.AsyncOpenAI.close)
        try:
            base = make().base_url
        except openai.OpenAIError as error:
            raise ConfigurationError(f"The model's client can't be made: {error}") from None
        # The API has no member for a picture's handle.
        self.handles: Handles = handles_at(base, {"document"})

    async def reply(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[Mapping[str, Any]],
        headers: Mapping[str, str],
        must_call: str = "",
    ) -> AsyncGenerator[ChatCompletionChunk, None]:
        """Ask for one reply, and yield its chunks.

        Args:
            messages: the conversation.
            tools: what the model may call, as chat completions describe it.
            headers: sent besides.
            must_call: name of the tool that the model must call; "" leaves it the choice.

        Raises:
            NotDelivered: the endpoint was not reached, or refused; the model has said nothing.
            UpstreamError: it broke off in the middle of the reply.
        """
        begun = complete = False
        # The client's types leave no room for members of other servers.
        request: dict[str, Any] = {"messages": list(messages)}
        if tools:
            request["tools"] = list(tools)
        if must_call:
            named = {"type": "function", "function": {"name": must_call}}
            request["tool_choice"] = named
        try:
            stream = await self._clients.get().chat.completions.create(
                model=self.model,
                stream=True,
                stream_options={"include_usage": True},
                extra_headers=dict(headers),
                extra_body=self._options,
                **request,
            )
            async with stream:
                async for chunk in stream:
                    if not isinstance(chunk, ChatCompletionChunk):
                        raise TypeError(f"a chunk is a {type(chunk).__name__}")
                    # Whatever the client's types say: servers leave it out of a last chunk.
                    for choice in getattr(chunk, "choices", None) or ():
                        delta = choice.delta
                        begun = begun or bool(delta.content or delta.refusal or delta.tool_calls)
                        complete = complete or choice.finish_reason is not None
                    yield chunk
        except _FAILURES as error:
            raise _failure(error, begun=begun) from error
        if not complete:
            raise _broke_off(begun=begun)

    async def aclose(self) -> None:
        """Close the connections; a later request opens them anew."""
        await self._clients.aclose()


def _failure(error: Exception, *, begun: bool) -> UpstreamError | NotDelivered:
    """The error for the client: never the server's own words, which may hold anything."""
    if begun:
        return _broke_off(begun=True)
    if isinstance(error, openai.APIStatusError):
        hint = _HINTS.get(error.status_code, "")
        text = f"The model's server answered {error.status_code}. {hint}".strip()
    elif isinstance(error, openai.APITimeoutError):
        text = "The model's server did not answer in time."
    elif isinstance(error, openai.APIConnectionError):
        text = "The model's server can't be reached. Check OPENAI_BASE_URL."
    else:
        text = "The model's server failed."
    return NotDelivered(text)


def _broke_off(*, begun: bool) -> UpstreamError | NotDelivered:
    text = "The model's server broke off in the middle of a reply."
    return UpstreamError(text) if begun else NotDelivered(text)
