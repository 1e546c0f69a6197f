"""A chat model behind any OpenAI-compatible endpoint, streamed.

The environment says which: OPENAI_BASE_URL, OPENAI_API_KEY (a local server needs none) and MODEL.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import httpx

from agui_bridge import UpstreamError
from agui_bridge.protocol.wire.sse import Decoder, Frame

__all__ = ["ChatModel", "ToolRequest", "Turn"]

HINTS: Mapping[int, str] = {
    401: "Check OPENAI_API_KEY.",
    403: "Check OPENAI_API_KEY.",
    404: "Check OPENAI_BASE_URL and MODEL.",
    429: "It is busy, or the quota is used up: try again later.",
}


class ToolRequest(TypedDict):
    """A call that the model asks for: plain JSON, so that a step can remember it.

    Attributes:
        id: the model's name for the call.
        name: the tool.
        arguments: JSON text as the model wrote it, which may be invalid.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class ChatModel:
    """A model and where it is.

    Attributes:
        base_url: such as `http://127.0.0.1:11434/v1`.
        model: its name there.
        api_key: sent as a bearer token; empty sends none.
    """

    base_url: str
    model: str
    api_key: str = ""

    @classmethod
    def from_environment(cls) -> ChatModel:
        """Read OPENAI_BASE_URL, OPENAI_API_KEY and MODEL.

        Raises:
            UpstreamError: MODEL is not set.
        """
        base_url = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
        model = os.environ.get("MODEL", "")
        if not model:
            raise UpstreamError("No model is configured: set MODEL to its name.")
        return cls(base_url.rstrip("/"), model, os.environ.get("OPENAI_API_KEY", ""))


class Turn:
    """One reply of the model: its text, and then the tool calls that it asks for."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._requests: dict[int, ToolRequest] = {}
        self._complete = False

    async def stream_text(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]
    ) -> AsyncIterator[str]:
        """Ask the model, and yield its text as it comes.

        Raises:
            UpstreamError: the server can't be reached, refused, or broke off. It says so
                without the server's own words, which may hold what nobody should read.
        """
        body = {"model": self._model.model, "messages": messages, "stream": True}
        if tools:
            body["tools"] = tools
        try:
            async for frame in self._post(body):
                if frame.data == "[DONE]":
                    self._complete = True
                elif piece := self._take(frame):
                    yield piece
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            kind = type(error).__name__
            raise UpstreamError(f"The model's server can't be reached ({kind}).") from error
        if not self._complete:
            raise UpstreamError("The model's server broke off in the middle of a reply.")

    def tool_requests(self) -> list[ToolRequest]:
        """Give the calls that the reply asks for, once all of its text was read."""
        if not self._complete:
            raise RuntimeError("The reply was not read to its end.")
        return [self._requests[index] for index in sorted(self._requests)]

    async def _post(self, body: Mapping[str, Any]) -> AsyncIterator[Frame]:
        key = self._model.api_key
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        timeout = httpx.Timeout(120, connect=10)  # a model may think for long before it speaks
        url = f"{self._model.base_url}/chat/completions"
        async with (
            httpx.AsyncClient(headers=headers, timeout=timeout) as client,
            client.stream("POST", url, json=body) as response,
        ):
            if response.status_code != 200:
                hint = HINTS.get(response.status_code, "")
                text = f"The model's server answered {response.status_code}. {hint}"
                raise UpstreamError(text.strip())
            decoder = Decoder()
            async for chunk in response.aiter_bytes():
                for frame in decoder.feed(chunk):
                    yield frame

    def _take(self, frame: Frame) -> str:
        """Keep what a chunk adds to the tool calls; gives what it adds to the text."""
        try:
            chunk = json.loads(frame.data)
            if chunk.get("error"):
                raise UpstreamError("The model's server failed in the middle of a reply.")
            choices = chunk.get("choices") or [{}]  # a chunk of usage has none
            delta = choices[0].get("delta") or {}
            for part in delta.get("tool_calls") or ():
                self._add(part)
            if choices[0].get("finish_reason"):
                self._complete = True  # not every server says [DONE] after it
            return delta.get("content") or ""
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UpstreamError("The model's server sent what is no chat completion.") from error

    def _add(self, part: Mapping[str, Any]) -> None:
        """Add one fragment of a call: the first names it, all of them bring arguments."""
        index = part.get("index", len(self._requests))
        request = self._requests.setdefault(
            index, {"id": f"request_{index}", "name": "", "arguments": ""}
        )
        function = part.get("function") or {}
        request["id"] = part.get("id") or request["id"]
        request["name"] += function.get("name") or ""
        request["arguments"] += function.get("arguments") or ""
