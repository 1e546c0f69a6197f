"""The model and the tool of an agent under test: they do what was written for the user's message.

An OpenAI-compatible server. What the model was told, and what the tool did, is counted here and
nowhere else.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

__all__ = ["FLOW", "HOLD", "Delta", "Model", "Script", "args", "call", "text", "thought"]

Delta = Mapping[str, Any]
HOLD: Delta = {"instead": "nothing more comes until the gate is open"}
FLOW: Delta = {"instead": "nothing more comes until a stop has come, and then one more piece"}


def text(words: str) -> Delta:
    """A piece of text."""
    return {"content": words}


def thought(words: str) -> Delta:
    """A piece of reasoning."""
    return {"reasoning_content": words}


def call(call_id: str, name: str = "work", arguments: str = "") -> Delta:
    """The beginning of a call of a tool, without arguments unless these are all of them."""
    function = {"name": name, "arguments": arguments}
    return {"tool_calls": [{"index": 0, "id": call_id, "type": "function", "function": function}]}


def args(piece: str) -> Delta:
    """A piece of its arguments."""
    return {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}


@dataclass
class Script:
    """What follows a user message.

    Attributes:
        steps: what the model says, request by request; after the last one it says "ok".
        holds_tool: whether the tool waits for the gate.
        gate: lets go on what is held.
        stopped: to be set once a stop has come.
        held: set once something waits.
        asked: how often the model was asked.
    """

    steps: Sequence[Sequence[Delta]]
    holds_tool: bool = False
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    held: asyncio.Event = field(default_factory=asyncio.Event)
    asked: int = 0


class Model:
    """The server.

    Attributes:
        scripts: by the text of the last user message.
        told: the messages of every request, by the same.
        begun: how often the tool began each job.
        done: how often it ended each.
    """

    def __init__(self) -> None:
        self.scripts: dict[str, Script] = {}
        self.told: dict[str, list[list[dict[str, Any]]]] = {}
        self.begun: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self._number = 0
        self.app = Starlette(
            routes=[
                Route("/v1/chat/completions", self._complete, methods=["POST"]),
                Route("/jobs/{job}", self._work),
            ]
        )

    async def _complete(self, request: Request) -> Response:
        messages = (await request.json())["messages"]
        last = next(_plain(m) for m in reversed(messages) if m["role"] == "user")
        self.told.setdefault(last, []).append(messages)
        # A team that is begun anew is told before it what was said before.
        last = last.rpartition("The user says now:\n")[2]
        script = self.scripts.get(last, Script(()))
        steps = script.steps[script.asked :] or ((text("ok"),),)
        script.asked += 1
        self._number += 1
        chunks = self._chunks(f"chatcmpl-{self._number}", steps[0], script)
        return StreamingResponse(chunks, media_type="text/event-stream")

    async def _chunks(
        self, name: str, deltas: Sequence[Delta], script: Script
    ) -> AsyncIterator[bytes]:
        calls = any("tool_calls" in delta for delta in deltas)
        for delta in [{"role": "assistant", "content": ""}, *deltas]:
            if delta in (HOLD, FLOW):
                script.held.set()
                await (script.gate if delta is HOLD else script.stopped).wait()
                yield _chunk(name, text(". "), None)
            else:
                yield _chunk(name, delta, None)
        yield _chunk(name, {}, "tool_calls" if calls else "stop")
        yield b"data: [DONE]\n\n"

    async def _work(self, request: Request) -> Response:
        job = request.path_params["job"]
        self.begun[job] += 1
        script = self.scripts.get(f"{job} first", Script(()))
        if script.holds_tool:
            script.held.set()
            await script.gate.wait()
        self.done[job] += 1
        return JSONResponse({"result": f"{job} is done"})


def _chunk(name: str, delta: Delta, reason: str | None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    chunk = {"id": name, "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    return f"data: {json.dumps({**chunk, 'choices': [choice]})}\n\n".encode()


def _plain(message: Mapping[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)
