"""An OpenAI-compatible chat-completions endpoint: one reply, streamed, and how it fails."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

try:
    import openai
except ModuleNotFoundError as error:
    if error.name != "openai":
        raise
    raise ModuleNotFoundError(
        'Agents that are a chat model need a package: pip install "agui-bridge[openai]"',
        name="openai",
    ) from None
from openai.types.chat import ChatCompletionChunk

from agui_bridge.agents.chat.messages import ChatMessage
from agui_bridge.errors import ConfigurationError, NotDelivered, UpstreamError
from agui_bridge.event_loops import PerLoop
from agui_bridge.media import Handles, handles_at

__all__ = ["ChatEndpoint"]

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
    ) -> AsyncGenerator[ChatCompletionChunk, None]:
        """Ask for one reply, and yield its chunks.

        Args:
            messages: the conversation.
            tools: what the model may call, as chat completions describe it.
            headers: sent besides.

        Raises:
            NotDelivered: the endpoint was not reached, or refused; the model has said nothing.
            UpstreamError: it broke off in the middle of the reply.
        """
        begun = complete = False
        # The client's types leave no room for members of other servers.
        request: dict[str, Any] = {"messages": list(messages)}
        if tools:
            request["tools"] = list(tools)
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
