"""Servers that refuse, break or forget: what becomes of an answer, and what people are shown."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from agui_bridge import Bridge
from tests.docs.pages import Conversation
from tests.support.server import serve
from tests.support.waiting import eventually

pytest.importorskip("langgraph_sdk")

from agui_bridge_langgraph_server import LangGraphServerAdapter

Frame = tuple[str, Any]
SCHEMA: dict[str, Any] = {"properties": {"messages": {}}}
QUESTION = {"id": "0" * 32, "value": "Sure?", "response_schema": {"type": "boolean"}}
TASK: dict[str, Any] = {"id": "t1", "name": "ask", "interrupts": [QUESTION]}


def said(text: str, own: str = "m1") -> dict[str, Any]:
    return {"type": "ai", "id": own, "content": text, "tool_calls": []}


def human(text: str) -> dict[str, Any]:
    return {"type": "human", "id": "u1", "content": text}


@dataclass
class Odd:
    """A server of one thread whose graph asks.

    Attributes:
        state: of the thread, None where it is unknown.
        status: of the thread.
        frames: of the next run.
        refuses: what it answers to a new run, in place of a stream.
        in_front: what something before it answers in its place.
        runs: those of the thread, with their metadata.
        sent: the bodies of the runs that it was asked for.
        headers: of each request.
        tells: what it waits for before it answers to a new run.
        cancelled: ids of the runs that it was to end.
        bridge: stands before it while somebody talks.
    """

    state: dict[str, Any] | None = None
    status: str = "idle"
    frames: list[Frame] = field(default_factory=list)
    refuses: int = 0
    in_front: Response | None = None
    runs: list[Any] = field(default_factory=list)
    sent: list[Any] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    tells: asyncio.Event | None = None
    cancelled: list[str] = field(default_factory=list)
    bridge: Bridge = field(init=False)

    def asks(self) -> None:
        """Have it wait for an answer from now on."""
        values = {"messages": [human("hi")]}
        self.state = {
            "values": values,
            "next": ["ask"],
            "tasks": [TASK],
            "checkpoint": {"checkpoint_id": "c1", "checkpoint_ns": ""},
        }

    def ends(self, text: str) -> None:
        """Have it be over from now on."""
        self.state = {
            "values": {"messages": [human("hi"), said(text)]},
            "next": [],
            "tasks": [],
            "checkpoint": {"checkpoint_id": "c2", "checkpoint_ns": ""},
        }

    async def _schemas(self, request: Request) -> Response:
        self.headers.append(dict(request.headers))
        if request.method == "POST":
            return JSONResponse([{"assistant_id": "a1"}])
        return JSONResponse({"input_schema": SCHEMA, "output_schema": SCHEMA})

    async def _thread(self, request: Request) -> Response:
        if self.in_front is not None:
            return self.in_front
        if self.state is None and self.status == "idle":
            return JSONResponse({"detail": "secret: no such thread"}, 404)
        if request.url.path.endswith("/runs"):
            return JSONResponse(self.runs)
        whole = request.url.path.endswith("/state")
        return JSONResponse(self.state if whole else {"status": self.status})

    async def _run(self, request: Request) -> Response:
        self.sent.append(await request.json())
        if self.tells is not None:
            self.runs = [{"run_id": "r9", "metadata": self.sent[-1]["metadata"]}]
            self.status = "busy"
            await self.tells.wait()
        if self.refuses:
            return JSONResponse({"detail": "secret"}, self.refuses)
        return self._stream()

    async def _cancel(self, request: Request) -> Response:
        self.cancelled.append(request.path_params["run"])
        return Response(status_code=204)

    async def _joined(self, request: Request) -> Response:
        return self._stream()

    def _stream(self) -> Response:
        async def frames() -> AsyncIterator[str]:
            for name, data in self.frames:
                if name == "ends":
                    self.ends(data)
                elif name == "asks":
                    self.asks()
                else:
                    yield f"event: {name}\ndata: {json.dumps(data)}\n\n"

        return StreamingResponse(frames(), media_type="text/event-stream")

    @contextlib.asynccontextmanager
    async def talk(self, **options: Any) -> AsyncIterator[Conversation]:
        routes = [
            Route("/assistants/search", self._schemas, methods=["POST"]),
            Route("/assistants/{own}/schemas", self._schemas),
            Route("/threads/{thread}", self._thread),
            Route("/threads/{thread}/state", self._thread),
            Route("/threads/{thread}/runs", self._thread),
            Route("/threads/{thread}/runs/stream", self._run, methods=["POST"]),
            Route("/threads/{thread}/runs/{run}/stream", self._joined),
            Route("/threads/{thread}/runs/{run}/cancel", self._cancel, methods=["POST"]),
        ]
        async with serve(Starlette(routes=routes), lifespan="off") as base:
            bridge = Bridge(telemetry=False)
            self.bridge = bridge
            bridge.add("odd", LangGraphServerAdapter(base, "graph", **options))
            async with bridge.lifespan():
                yield Conversation(bridge, "odd")


@contextlib.asynccontextmanager
async def asking(odd: Odd, **options: Any) -> AsyncIterator[Conversation]:
    """A conversation with a question open."""
    odd.frames = [("asks", None)]
    async with odd.talk(**options) as talk:
        await talk.say("hi")
        assert [ask["responseSchema"] for ask in talk.asks] == [{"type": "boolean"}]
        odd.frames = [
            ("messages", [said("done"), {"langgraph_checkpoint_ns": "ask:t1"}]),
            ("ends", "done"),
        ]
        yield talk


def status(talk: Conversation) -> str:
    last = talk.events[-1]
    return str(last.get("code") or last["outcome"]["type"])


@pytest.mark.parametrize("refuses", [400, 401, 403, 404, 409, 413, 422, 429])
async def test_an_answer_that_is_refused_can_be_given_again(refuses: int) -> None:
    odd = Odd()
    async with asking(odd) as talk:
        (ask,) = talk.asks
        odd.refuses = refuses
        await talk.answer(True)
        assert status(talk) == "UPSTREAM_ERROR"
        assert "secret" not in str(talk.events[-1])
        odd.refuses = 0
        entry = {"interruptId": ask["id"], "status": "resolved", "payload": True}
        assert await talk._send(resume=[entry]) == "done"
        assert [one["command"] for one in odd.sent[1:]] == [{"resume": {"0" * 32: True}}] * 2


@pytest.mark.parametrize(
    "page",
    [
        HTMLResponse("<h1>Sign in</h1>"),
        RedirectResponse("http://127.0.0.1:9/sign-in", 302),
        JSONResponse([{"secret": 1}]),
        JSONResponse({"tasks": [{}]}),
    ],
    ids=["page", "redirect", "list", "odd"],
)
async def test_an_answer_before_which_something_else_stands_can_be_given_again(
    page: Response,
) -> None:
    odd = Odd()
    async with asking(odd) as talk:
        (ask,) = talk.asks
        odd.in_front = page
        await talk.answer(True)
        assert status(talk) == "UPSTREAM_ERROR" and len(odd.sent) == 1
        assert "secret" not in str(talk.events[-1])
        odd.in_front = None
        entry = {"interruptId": ask["id"], "status": "resolved", "payload": True}
        assert await talk._send(resume=[entry]) == "done"


async def test_an_answer_of_unknown_fate_is_looked_for_and_followed_where_it_is() -> None:
    odd = Odd(refuses=0)
    async with asking(odd) as talk:
        odd.refuses = 502

        class Marks(list[Any]):
            """The run that was asked for, as the server has it."""

            def __iter__(self) -> Any:
                return iter([{"run_id": "r9", "metadata": odd.sent[-1]["metadata"]}])

            def __len__(self) -> int:
                return 1

        odd.runs = Marks([None])
        assert await talk.answer(True) == "done"
        assert (status(talk), len(odd.sent)) == ("success", 2)


async def test_a_stop_ends_a_run_whose_id_the_server_has_not_told_yet() -> None:
    odd = Odd(state={}, tells=asyncio.Event())
    async with odd.talk() as talk:
        saying = asyncio.create_task(talk.say("hi"))
        await eventually(lambda: odd.sent)
        assert (await odd.bridge.stop("odd", talk.thread, force=True)).status == "success"
        await saying
        assert (status(talk), odd.cancelled) == ("cancelled", ["r9"])
        assert odd.tells is not None
        odd.tells.set()


async def test_an_answer_that_is_nowhere_is_indeterminate_and_not_sent_again() -> None:
    odd = Odd()
    async with asking(odd) as talk:
        (ask,) = talk.asks
        odd.refuses = 502
        await talk.answer(True)
        assert status(talk) == "RUN_INDETERMINATE"
        odd.refuses = 0
        entry = {"interruptId": ask["id"], "status": "resolved", "payload": True}
        await talk._send(resume=[entry])
        assert len(odd.sent) == 2


@pytest.mark.parametrize(
    ("frames", "code", "told"),
    [
        ([("error", {"error": "KeyError", "message": "secret"})], "UPSTREAM_ERROR", "KeyError"),
        ([("error", {"error": "ValidationError", "message": "x"})], "UPSTREAM_ERROR", "not taken"),
        ([("messages", ["nonsense"])], "UPSTREAM_ERROR", "form unknown here"),
    ],
)
async def test_what_breaks_amid_an_answer_is_told_without_the_servers_words(
    frames: list[Frame], code: str, told: str
) -> None:
    odd = Odd()
    async with asking(odd) as talk:
        odd.frames = frames
        await talk.answer(True)
        assert status(talk) == code
        assert told in talk.events[-1]["message"]
        assert "secret" not in str(talk.events)


async def test_an_answer_that_the_graph_itself_refuses_leaves_the_question_open() -> None:
    odd = Odd()
    async with asking(odd) as talk:
        done = odd.frames
        (ask,) = talk.asks
        odd.frames = [("error", {"error": "ValidationError", "message": "x"})]
        await talk.answer(True)
        odd.frames = done
        entry = {"interruptId": ask["id"], "status": "resolved", "payload": False}
        assert await talk._send(resume=[entry]) == "done"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda odd: setattr(odd, "state", None), "INTERRUPT_EXPIRED"),
        (lambda odd: odd.ends("by somebody else"), "UPSTREAM_ERROR"),
        (lambda odd: setattr(odd, "status", "busy"), "UPSTREAM_ERROR"),
    ],
)
async def test_nothing_is_sent_where_the_question_does_not_wait(change: Any, code: str) -> None:
    odd = Odd()
    async with asking(odd, patience=0.1) as talk:
        change(odd)
        await talk.answer(True)
        assert status(talk) == code
        assert len(odd.sent) == 1


async def test_a_server_whose_interrupts_have_other_ids_is_told_as_too_old() -> None:
    # It would take an answer by its id for the answer itself: {"0123": true} is a yes.
    odd = Odd(frames=[("asks", None)])
    async with odd.talk() as talk:
        TASK["interrupts"] = [{**QUESTION, "id": "0123"}]
        try:
            await talk.say("hi")
        finally:
            TASK["interrupts"] = [QUESTION]
        assert status(talk) == "UPSTREAM_ERROR"
        assert "too old" in talk.events[-1]["message"]


async def test_keys_headers_context_and_configuration_go_with_each_run() -> None:
    odd = Odd(frames=[("ends", "done")])
    options: dict[str, Any] = {
        "api_key": "k1",
        "headers": lambda run: {"authorization": f"Bearer {run.agent}"},
        "config": {"recursion_limit": 7},
        "graph_context": {"language": "fr"},
    }
    async with odd.talk(**options) as talk:
        await talk.say("hi")
    assert odd.headers[0]["x-api-key"] == "k1"
    assert odd.headers[0]["authorization"] == "Bearer odd"
    (sent,) = odd.sent
    assert (sent["config"], sent["context"]) == ({"recursion_limit": 7}, {"language": "fr"})
    assert [one["content"] for one in sent["input"]["messages"]] == ["hi"]
    assert (sent["multitask_strategy"], sent["on_disconnect"]) == ("reject", "continue")
