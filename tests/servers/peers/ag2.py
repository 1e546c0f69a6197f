"""An AG2 agent behind AG2's own endpoint: `python -m tests.servers.peers.ag2 --port 8000`.

A turn that waits for an answer is held in its process alone, and asks one thing at a time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterable, Sequence
from typing import Any

from ag2 import Agent, tool
from ag2.ag_ui import AGUIStream
from ag2.config import LLMClient, ModelConfig
from ag2.events import (
    ModelMessage,
    ModelMessageChunk,
    ModelRequest,
    ModelResponse,
    ToolCallEvent,
    ToolCallsEvent,
    ToolResultEvent,
    ToolResultsEvent,
)
from ag2.middleware.builtin.tools.approval import ApprovalRequired
from fastapi import FastAPI

from tests.servers.peers.script import TOKEN_SECONDS, Effects, calls_of, reply_to, serve


class Scripted(LLMClient):
    """What a language model would do with the last message."""

    async def __call__(
        self, messages: Sequence[Any], context: Any, *, tools: Iterable[Any] = (), **_: Any
    ) -> ModelResponse:
        results: list[str] = []
        text = ""
        for message in reversed(messages):
            if isinstance(message, ModelRequest):
                text = " ".join(str(getattr(part, "content", "")) for part in message.parts)
                break
            if isinstance(message, ToolResultsEvent):
                results[:0] = [_text(one) for one in message.results]
        names = [one.function.name for one in tools]
        calls = [] if results else calls_of(text, [n for n in names if n != "send_email"])
        if calls:
            made = [ToolCallEvent(c.name, id=c.id, arguments=json.dumps(c.args)) for c in calls]
            return ModelResponse(tool_calls=ToolCallsEvent(made))
        pieces = reply_to(text, results)
        for piece in pieces:
            if len(pieces) > 1:
                await asyncio.sleep(TOKEN_SECONDS)
            await context.send(ModelMessageChunk(piece))
        said = ModelMessage("".join(pieces))
        await context.send(said)
        return ModelResponse(said)


def _text(result: ToolResultEvent) -> str:
    return " ".join(str(getattr(part, "content", "")) for part in result.result.parts)


class Config(ModelConfig):
    """Where AG2 has its model from."""

    provider = None
    model = "scripted"

    def copy(self) -> Config:
        return self

    def create(self) -> Scripted:
        return Scripted()


def make_app(options: argparse.Namespace) -> FastAPI:
    """The agent at `/`."""
    effects = Effects(options.effects)

    @tool(middleware=[ApprovalRequired()])
    def send_email(to: str, body: str) -> str:
        """Send an email."""
        return effects.send_email(to, body)

    agent = Agent("peer", config=Config(), tools=[send_email])
    served = FastAPI()
    served.mount("/", AGUIStream(agent).build_asgi())
    return served


if __name__ == "__main__":
    serve(make_app)
