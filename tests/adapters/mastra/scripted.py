"""A Mastra server whose answers a test writes, and a conversation with the agent behind it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx

from agui_bridge import Bridge
from agui_bridge_mastra import MastraAdapter
from tests.adapters.mastra.replay import Answer, Server
from tests.docs.pages import Conversation

APPROVE = {"approved": True}


class Talk(Conversation):
    """A conversation with an agent before a scripted server."""

    def __init__(self, server: Server, **options: Any) -> None:
        agent = options.pop("agent", "approval-agent")
        bridge = Bridge(options.pop("store", "memory:"))
        adapter = MastraAdapter("http://mastra.test", agent, client=server.client(), **options)
        bridge.add("agent", adapter)
        self.adapter = adapter
        super().__init__(bridge, "agent")

    @property
    def error(self) -> tuple[str, str]:
        """Code and message of the error that the last run ended with."""
        last = self.events[-1]
        assert last["type"] == "RUN_ERROR", last
        return last["code"], last["message"]


def stream(*chunks: dict[str, Any], end: bool = True) -> Answer:
    """An answer of these chunks."""
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    content = "".join([*lines, *(["data: [DONE]\n\n"] if end else [])])
    return lambda request: httpx.Response(
        200, content=content.encode(), headers={"content-type": "text/event-stream"}
    )


def broken(*chunks: dict[str, Any]) -> Answer:
    """An answer whose connection breaks after these chunks."""

    async def breaking() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield f"data: {json.dumps(chunk)}\n\n".encode()
        raise httpx.ReadError("gone")

    kind = {"content-type": "text/event-stream"}
    return lambda request: httpx.Response(200, content=breaking(), headers=kind)


def agent(kind: str, **payload: Any) -> dict[str, Any]:
    return {"type": kind, "runId": "theirs", "from": "AGENT", "payload": payload}


def status(code: int, body: str = "") -> Answer:
    return lambda request: httpx.Response(code, text=body)


def nothing_suspended(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, json={"runs": [], "total": 0})


def refuse(error: type[httpx.TransportError]) -> Answer:
    def raising(request: httpx.Request) -> httpx.Response:
        raise error("secret-host:1")

    return raising


def result(call: str = "c1", value: Any = "red it is") -> dict[str, Any]:
    return agent("tool-result", toolCallId=call, toolName="ask", result=value)


FINISH = agent("finish", stepResult={"reason": "stop"}, output={"usage": {}})


SUSPENDED = agent(
    "tool-call-suspended",
    toolCallId="c1",
    toolName="ask",
    args={"topic": "red"},
    suspendPayload={"question": "What about red?"},
    resumeSchema=json.dumps(
        {"type": "object", "required": ["answer"], "properties": {"answer": {"type": "string"}}}
    ),
)
