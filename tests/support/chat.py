"""A client of the chat API: reads both output modes, and judges every frame by its schema."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx
from jsonschema import Draft202012Validator

from agui_bridge.protocol.wire.sse import Decoder
from agui_bridge.shapes.chat import FRAMES, chat_state
from tests.support.server import PATIENCE

__all__ = ["Chat", "Frames"]

Json = dict[str, Any]

_FRAME = {name: Draft202012Validator(schema) for name, schema in FRAMES.items()}
_STATE = Draft202012Validator(chat_state())


@dataclass
class Frames:
    """The frames of one stream.

    Attributes:
        raw: the bytes of the body.
        kinds: the names of the A2UI frames.
        tokens: the legacy frames.
        text: all text.
        interrupt: the question, in the mode's own shape.
        error: code and message.
        done: the data of `done`, or whether there was `[DONE]`.
    """

    raw: bytearray = field(default_factory=bytearray)
    kinds: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    text: str = ""
    interrupt: Json | None = None
    error: Json | None = None
    done: Any = None
    _decoder: Decoder = field(default_factory=Decoder)

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self.raw += chunk
        for frame in self._decoder.feed(chunk):
            if frame.event:
                self._take(frame.event, json.loads(frame.data))
            else:
                self._take_token(frame.data)

    def _take(self, kind: str, body: Json) -> None:
        _FRAME[kind].validate(body)
        assert self.interrupt is None and self.done is None, f"{kind} after the end"
        self.kinds.append(kind)
        data = body["data"]
        if kind == "text":
            self.text += data["delta"]
            assert data["content"] == self.text
        else:
            setattr(self, kind, data)

    def _take_token(self, token: str) -> None:
        assert self.interrupt is None and self.done is None, f"{token!r} after the end"
        self.tokens.append(token)
        if token == "[DONE]":
            self.done = True
        elif token.startswith("\0INTERRUPT:"):
            self.interrupt = json.loads(token.removeprefix("\0INTERRUPT:"))
            _STATE.validate({"interrupted": True, "state": self.interrupt})
        elif token.startswith("\0ERROR:"):
            self.error = json.loads(token.removeprefix("\0ERROR:"))
        else:
            assert "\0" not in token
            self.text += token


class Chat:
    """One session.

    Args:
        http: a client of the server.
        agent: the agent's name.
        session: the session's id.
        a2ui: the output mode.
        headers: sent with every request.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        agent: str = "agent",
        session: str = "session-123",
        *,
        a2ui: bool = True,
        headers: dict[str, str] | None = None,
    ) -> None:
        self._http = http
        self._ids = {"agent_id": agent, "session_id": session}
        self._headers = {**({"X-A2UI": "true"} if a2ui else {}), **(headers or {})}

    async def say(self, message: str = "go") -> Frames:
        """Send a message and read its reply."""
        return await self._stream("stream", message=message)

    async def answer(self, **values: Any) -> Frames:
        """Fill the form in and read what follows."""
        return await self._stream("resume", input=values)

    async def answer_to(self, checkpoint: str, **values: Any) -> Frames:
        """The same, of the question that a checkpoint names."""
        return await self._stream("resume", input=values, checkpoint_id=checkpoint)

    @contextlib.asynccontextmanager
    async def listening(self, message: str = "go") -> AsyncIterator[Listening]:
        """Send a message and read its reply piece by piece."""
        body = {**self._ids, "message": message}
        async with self._http.stream(
            "POST", "/api/v1/chat/stream", json=body, headers=self._headers
        ) as response:
            assert response.status_code == 200, (await response.aread()).decode()
            yield Listening(response)

    async def refused(self, call: str, **members: Any) -> tuple[int, str]:
        """Send what is refused; gives status and code."""
        answer = await self._http.post(
            f"/api/v1/chat/{call}", json={**self._ids, **members}, headers=self._headers
        )
        return answer.status_code, answer.json()["error"]["code"]

    async def state(self) -> Json | None:
        """What is pending."""
        answer = await self._http.get(
            "/api/v1/chat/interrupt_state", params=self._ids, headers=self._headers
        )
        assert answer.status_code == 200, answer.text
        body = answer.json()
        _STATE.validate(body)
        state: Json | None = body.get("state")
        return state

    async def _stream(self, call: str, **members: Any) -> Frames:
        async with self._http.stream(
            "POST", f"/api/v1/chat/{call}", json={**self._ids, **members}, headers=self._headers
        ) as response:
            assert response.status_code == 200, (await response.aread()).decode()
            assert response.headers["content-type"].startswith("text/event-stream")
            return await Listening(response).rest()


class Listening:
    """A stream while it is read."""

    def __init__(self, response: httpx.Response) -> None:
        self.frames = Frames()
        self._chunks = response.aiter_raw()

    async def until(self, text: str) -> None:
        """Read until there is a text."""
        while text not in self.frames.text:
            assert await self.step(), f"the stream ended: {self.frames}"

    async def rest(self) -> Frames:
        """Read to the end."""
        while await self.step():
            pass
        return self.frames

    async def step(self) -> bool:
        """Read what comes next; False at the end."""
        async with asyncio.timeout(PATIENCE):
            chunk = await anext(self._chunks, None)
        if chunk is None:
            return False
        self.frames.feed(chunk)
        return True
