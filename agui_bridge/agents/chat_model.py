"""A chat model behind any OpenAI-compatible endpoint as an agent: no tools, only conversation.

The context is the thread's stored history, after the system prompt. Needs the extra `openai`.
Source: seed 000_9c3a40ec0d8c2fa7.txt, `chat_model_agent`.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, cast

import openai
from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageParam

from agui_bridge.adapters import AdapterCapabilities, Run
from agui_bridge.errors import ConfigurationError, NotDelivered, UpstreamError

__all__ = ["ChatModelAdapter"]

_HINTS: Final[Mapping[int, str]] = {
    400: "It may not know the model, or take an option of it.",
    401: "Check OPENAI_API_KEY.",
    403: "Check OPENAI_API_KEY, and that it may use this model.",
    404: "Check OPENAI_BASE_URL and the model's name.",
    413: "The conversation is too long for it.",
    429: "It is busy, or the quota is used up: try again later.",
}
_CONNECT_SECONDS: Final = 10.0

_FAILURES: Final[tuple[type[Exception], ...]] = (
    openai.OpenAIError,
    *(import_module(name).HTTPError for name in ("httpx", "httpx2") if find_spec(name)),
    ValueError,
)
"""The client lets what breaks a stream through as it is: errors of the HTTP library that its
version uses, and those of a chunk that is no JSON."""


class ChatModelAdapter:
    """Streams a chat model's replies.

    A request that fails before the first token has done nothing, since a model has no side
    effects: an answer to a question is then not delivered, and the question stands open again.

    Args:
        model: its name at the endpoint.
        system_prompt: what the conversation begins with; empty for none.
        base_url: of the endpoint; by default OPENAI_BASE_URL, or OpenAI's own.
        api_key: by default OPENAI_API_KEY; an endpoint that needs none gets a word of no meaning.
        timeout: seconds that the model may be silent.
        retries: how often a request is tried again that failed before its first token.
        options: members of the request besides, such as `temperature`.

    Attributes:
        capabilities: it never asks and has no tools, so that there is nothing for a policy.

    Raises:
        ConfigurationError: the model has no name.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(
        approve=False, decline=False, answer=False, cancel=False, policy=True
    )

    def __init__(
        self,
        model: str,
        *,
        system_prompt: str = "",
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 120.0,
        retries: int = 2,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if not model:
            raise ConfigurationError("A chat model agent needs the name of its model.")
        self.model = model
        self._system_prompt = system_prompt
        self._options = dict(options or {})
        try:
            self._client = openai.AsyncOpenAI(
                base_url=base_url or None,
                api_key=api_key or os.environ.get("OPENAI_API_KEY") or "none",
                timeout=openai.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)),
                max_retries=retries,
            )
        except openai.OpenAIError as error:
            raise ConfigurationError(f"The model's client can't be made: {error}") from None

    async def run(self, run: Run) -> AsyncGenerator[str, None]:
        """Stream one reply.

        Raises:
            NotDelivered: the endpoint was not reached, or refused.
            UpstreamError: it broke off in the middle of the reply.
        """
        said = False
        run.iteration = 1
        try:
            stream = await self._client.chat.completions.create(
                model=self.model,
                messages=self._context(run),
                stream=True,
                stream_options={"include_usage": True},
                extra_headers=dict(run.trace_headers),
                **self._options,
            )
            complete = False
            async with stream:
                async for chunk in stream:
                    _report(run, self.model, chunk)
                    # Whatever the client's types say: servers leave it out of a last chunk.
                    for choice in getattr(chunk, "choices", None) or ():
                        if text := choice.delta.content:
                            said = True
                            yield text
                        complete = complete or choice.finish_reason is not None
                        if choice.finish_reason == "content_filter":
                            raise UpstreamError("The model's server withheld the rest of a reply.")
        except _FAILURES as error:
            raise _failure(error, said=said) from error
        if not complete:
            raise _broke_off(said=said)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _context(self, run: Run) -> list[ChatCompletionMessageParam]:
        system = {"role": "system", "content": self._system_prompt}
        messages: list[Any] = [system] if self._system_prompt else []
        for message in run.raw_messages:
            role = message["role"]
            if role in ("user", "assistant", "system", "developer") and message.get("content"):
                content = _content(message["content"])
                messages.append({"role": "system" if role == "developer" else role, **content})
        return cast(list[ChatCompletionMessageParam], messages)


def _content(content: Any) -> dict[str, Any]:
    """The text of a message; of one in parts its texts and images."""
    if isinstance(content, str):
        return {"content": content}
    parts: list[dict[str, Any]] = []
    for part in content:
        if part.get("type") == "text":
            parts.append({"type": "text", "text": part["text"]})
        elif part.get("type") == "image" and isinstance(part.get("source"), Mapping):
            source = part["source"]
            url = source.get("value", "")
            if source.get("type") == "data":
                url = f"data:{source.get('mimeType', '')};base64,{url}"
            parts.append({"type": "image_url", "image_url": {"url": url}})
    return {"content": parts}


def _report(run: Run, model: str, chunk: ChatCompletionChunk) -> None:
    usage = chunk.usage
    if usage is None:
        return
    # Not every server counts all of them, whatever the client's types say.
    counts: dict[str, int | None] = {
        "inputTokens": usage.prompt_tokens,
        "outputTokens": usage.completion_tokens,
        "totalTokens": usage.total_tokens,
    }
    known = {name: count for name, count in counts.items() if count is not None}
    run.usage.append({"model": model, **known})


def _failure(error: Exception, *, said: bool) -> UpstreamError | NotDelivered:
    """The error for the client: never the server's own words, which may hold anything."""
    if said:
        return _broke_off(said=True)
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


def _broke_off(*, said: bool) -> UpstreamError | NotDelivered:
    text = "The model's server broke off in the middle of a reply."
    return UpstreamError(text) if said else NotDelivered(text)
