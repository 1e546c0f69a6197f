"""Servers that refuse, break or forget: what becomes of an answer, and what people are shown."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from agui_bridge import Bridge
from agui_bridge_a2a import A2AAdapter
from tests.docs.pages import Conversation
from tests.support.server import serve

QUESTION: Final[Mapping[str, Any]] = {
    "state": "TASK_STATE_INPUT_REQUIRED",
    "message": {"messageId": "m1", "role": "ROLE_AGENT", "parts": [{"text": "Sure?"}]},
}


@dataclass
class Odd:
    """A server of one task that asks.

    Attributes:
        status: of the task.
        replies: to the answer: an error's code, or a whole response.
        keeps: whether the task has the messages that it was sent.
        sent: those messages.
    """

    status: Mapping[str, Any] = field(default_factory=lambda: QUESTION)
    replies: int | Response = 0
    keeps: bool = False
    sent: list[Any] = field(default_factory=list)

    @contextlib.asynccontextmanager
    async def talk(self) -> AsyncIterator[Conversation]:
        routes = [
            Route("/.well-known/agent-card.json", self._card),
            Route("/rpc", self._rpc, methods=["POST"]),
        ]
        async with serve(Starlette(routes=routes), lifespan="off") as base:
            bridge = Bridge(telemetry=False)
            bridge.add("remote", A2AAdapter(base, patience=0.1))
            yield Conversation(bridge, "remote")
            await bridge.aclose()

    async def _card(self, request: Request) -> Response:
        way = {"url": f"{request.base_url}rpc", "protocolBinding": "JSONRPC"}
        return JSONResponse({"supportedInterfaces": [{**way, "protocolVersion": "1.0"}]})

    async def _rpc(self, request: Request) -> Response:
        called = await request.json()
        history = self.sent if self.keeps else []
        task = {"id": "task-1", "contextId": "c", "status": self.status, "history": history}
        if called["method"] == "GetTask":
            return JSONResponse({"result": task})
        message = called["params"]["message"]
        if "taskId" not in message:
            return JSONResponse({"result": {"task": task}})
        self.sent.append(message)
        if isinstance(self.replies, Response):
            return self.replies
        return JSONResponse({"error": {"code": self.replies, "message": "secret"}})


STANDS, GONE, UNKNOWN = "UPSTREAM_ERROR", "INTERRUPT_EXPIRED", "RUN_INDETERMINATE"


@pytest.mark.parametrize(
    ("replies", "keeps", "code"),
    [
        *((code, False, STANDS) for code in (-32700, -32600, -32601, -32008, -32009, -32602)),
        *((code, False, GONE) for code in (-32001, -32004)),
        *((code, False, UNKNOWN) for code in (-32603, -32006, 0)),
        # It says that the answer has arrived.
        (-32602, True, UNKNOWN),
        *((Response("secret", status), False, STANDS) for status in (401, 403, 404, 413, 429)),
        *((Response("secret", status), False, UNKNOWN) for status in (500, 502, 503)),
        (RedirectResponse("http://127.0.0.1:9/", 307), False, STANDS),
        (Response("no JSON"), False, UNKNOWN),
        (JSONResponse([1]), False, UNKNOWN),
        (JSONResponse({"result": {"task": 7}}), False, UNKNOWN),
    ],
)
async def test_an_answer_is_sent_again_only_if_the_agent_certainly_has_not_had_it(
    replies: Any, keeps: bool, code: str
) -> None:
    odd = Odd(replies=replies, keeps=keeps)
    async with odd.talk() as talk:
        await talk.say("go")
        (ask,) = talk.asks
        entry = {"interruptId": ask["id"], "status": "resolved", "payload": {"text": "yes"}}
        await talk._send(resume=[entry])
        assert talk.events[-1]["code"] == code
        assert "secret" not in str(talk.events)
        done = {"task": {"id": "task-1", "status": {"state": "TASK_STATE_COMPLETED"}}}
        odd.replies = JSONResponse({"result": done})
        await talk._send(resume=[entry])
        assert len(odd.sent) == (2 if code == STANDS else 1)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Sign in: https://id.example.com/x.", "https://id.example.com/x"),
        ("Sign in: http://id.example.com/x", None),
        ("Sign in: https://bank.example.com@evil.example.com/", None),
        ("Sign in somewhere.", None),
    ],
)
async def test_an_address_that_could_mislead_is_not_shown(text: str, address: str | None) -> None:
    message = {"messageId": "m1", "role": "ROLE_AGENT", "parts": [{"text": text}]}
    odd = Odd(status={"state": "TASK_STATE_AUTH_REQUIRED", "message": message})
    async with odd.talk() as talk:
        await talk.say("go")
        (ask,) = talk.asks
        assert ask.get("metadata", {}).get("a2a", {}).get("url") == address
        assert "http://" not in ask["message"] and "evil" not in ask["message"]


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        ({"schema": {"type": "object", "required": ["n"]}}, ["n"]),
        ({"responseSchema": {"type": "object", "required": ["n"]}}, ["n"]),
        ({"type": "object", "properties": {"n": {}}, "required": ["n"]}, ["n"]),
        # Data that is no schema, and one that can't be checked: people write text.
        ({"type": "object", "rows": 3}, ["text"]),
        ({"schema": {"$ref": "https://example.com/schema"}}, ["text"]),
        (7, ["text"]),
    ],
)
async def test_a_schema_is_one_that_answers_can_be_checked_against(
    data: Any, wanted: list[str]
) -> None:
    message = {**QUESTION["message"], "parts": [{"text": "Sure?"}, {"data": data}]}
    async with Odd(status={**QUESTION, "message": message}).talk() as talk:
        await talk.say("go")
        assert talk.asks[0]["responseSchema"]["required"] == wanted
