"""The adapter against this project's own chat API, each over a real socket."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.requests import Request

from agui_bridge import Bridge, KeywordAdapter
from agui_bridge.adapters import Run, RunItem
from agui_bridge.agents.keyword.phrases import CHINESE_REPLIES
from agui_bridge.errors import UpstreamError
from agui_bridge.protocol.answers.forms import FormField
from agui_bridge.protocol.wire.sse import Decoder
from agui_bridge.stores.memory import MemoryStore
from agui_bridge_superagent import SuperAgentAdapter
from tests.http.conftest import by_token
from tests.support.agents import Scripted
from tests.support.clock import FakeClock
from tests.support.server import client, open_stream, post, run_input, serve

QUESTION = "Please confirm: 即将删除 1,234 条记录。"
Event = dict[str, Any]


async def speak(run: Run) -> AsyncIterator[RunItem]:
    if run.text == "go":
        yield "I found 1,234.\nTwo lines. "
        yield QUESTION
    else:
        yield f"Told: {run.text}"


class Sites:
    """A front bridge whose agent is remote, and the remote one.

    Attributes:
        remote: the URL of the remote bridge.
        clock: its store's.
    """

    def __init__(self, front: str, remote: str, clock: FakeClock) -> None:
        self.front = front
        self.remote = remote
        self.clock = clock

    async def send(
        self, text: str | None = None, token: str | None = None, **members: Any
    ) -> list[Event]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with client(self.front) as http:
            answer = await http.post(
                "/agents/remote", json=run_input(text, **members), headers=headers
            )
        frames = Decoder().feed(answer.content)
        return [event for frame in frames if (event := frame.wire_event()) is not None]

    async def ask(self, **members: Any) -> dict[str, Any]:
        events = await self.send("go", **members)
        (ask,) = events[-1]["outcome"]["interrupts"]
        found: dict[str, Any] = ask
        return found


@contextlib.asynccontextmanager
async def serving(
    inner: Any = None, *, a2ui: bool = True, authenticate: Any = None, **options: Any
) -> AsyncIterator[Sites]:
    clock = FakeClock()
    remote = Bridge(MemoryStore(clock.time))
    remote.add("approval-agent", inner or KeywordAdapter(Scripted(speak), **options))
    async with serve(remote.app(anonymous=True)) as far:
        front = Bridge(authenticate=authenticate)
        front.add("remote", SuperAgentAdapter(far, "approval-agent", a2ui=a2ui))
        async with serve(front.app(anonymous=True)) as near:
            yield Sites(near, far, clock)


def text_of(events: list[Event]) -> str:
    return "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")


def answer(ask: dict[str, Any], **payload: Any) -> list[dict[str, Any]]:
    return [{"interruptId": ask["id"], "status": "resolved", "payload": payload}]


@pytest.mark.parametrize("a2ui", [True, False])
async def test_a_question_is_an_interrupt_and_the_answer_goes_to_resume(a2ui: bool) -> None:
    fields = (
        FormField("confirm", "confirm", "确认", required=True),
        FormField("when", "select", "When", options=("now", "tonight")),
    )
    async with serving(a2ui=a2ui, fields=fields) as sites:
        asked = await sites.send("go")
        (ask,) = asked[-1]["outcome"]["interrupts"]
        assert text_of(asked) == "I found 1,234.\nTwo lines. "
        assert (ask["message"], ask["reason"]) == (QUESTION, "confirmation")
        assert ask["responseSchema"]["properties"]["when"]["enum"] == ["now", "tonight"]
        # The form is checked here already.
        refused = await sites.send(resume=answer(ask, confirm="yes"))
        assert refused[-1]["code"] == "INVALID_RESUME_PAYLOAD"
        answered = await sites.send(resume=answer(ask, confirm=True, when="now"))
        assert text_of(answered) == f"Told: {CHINESE_REPLIES.yes}\nWhen：now"
        assert answered[-1]["outcome"] == {"type": "success"}
        assert text_of(await sites.send("thanks")) == "Told: thanks"


async def test_a_no_and_a_cancel_are_both_told_as_a_no() -> None:
    async with serving() as sites:
        ask = await sites.ask()
        told = text_of(await sites.send(resume=answer(ask, confirm=False)))
        assert told == f"Told: {CHINESE_REPLIES.no}"
        ask = await sites.ask(thread="other")
        entry = {"interruptId": ask["id"], "status": "cancelled"}
        told = text_of(await sites.send(resume=[entry], thread="other"))
        assert told == f"Told: {CHINESE_REPLIES.no}"


async def test_a_question_that_expired_there_is_gone_here_too() -> None:
    async with serving(expires_in=300) as sites:
        ask = await sites.ask()
        sites.clock.advance(310)
        events = await sites.send(resume=answer(ask, confirm=True))
        assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "INTERRUPT_EXPIRED")
        # The thread goes on.
        assert text_of(await sites.send("thanks")) == "Told: thanks"


async def test_a_question_that_was_answered_there_is_409_and_an_error_here() -> None:
    async with serving() as sites:
        ask = await sites.ask()
        async with client(sites.remote) as http:
            body = {"agent_id": "approval-agent", "session_id": "t", "input": {"confirm": False}}
            assert (await http.post("/api/v1/chat/resume", json=body)).status_code == 200
        events = await sites.send(resume=answer(ask, confirm=True))
        assert events[-1]["code"] == "INTERRUPT_EXPIRED"


async def test_a_question_that_was_stopped_here_is_withdrawn_there() -> None:
    async with serving() as sites:
        await sites.ask()
        async with client(sites.front) as http:
            await http.post("/agents/remote/threads/t/stop", json={})
        assert text_of(await sites.send("thanks")) == "Told: thanks"


@pytest.mark.parametrize("force", [False, True], ids=["graceful", "forced"])
@pytest.mark.parametrize("a2ui", [True, False])
async def test_a_stop_here_stops_the_run_there_and_keeps_what_it_said(
    a2ui: bool, force: bool
) -> None:
    async def endless(run: Run) -> AsyncIterator[RunItem]:
        if run.text == "go":
            yield "One. Two."
            await asyncio.Event().wait()
        yield f"Told: {run.text}"

    async with serving(Scripted(endless), a2ui=a2ui) as sites:
        async with open_stream(sites.front, "remote", **run_input("go")) as stream:
            await stream.until("TEXT_MESSAGE_CONTENT")
            async with client(sites.front) as http:
                stop = await http.post("/agents/remote/threads/t/stop", json={"force": force})
            await stream.rest()
        # Else the session there would be busy.
        assert text_of(await sites.send("more")) == "Told: more"

    assert (stop.json()["status"], stop.json()["partialResponse"][:4]) == ("success", "One.")
    assert stream.events[-1]["outcome"] == {"type": "cancelled"}


async def test_a_failure_there_is_an_upstream_error_here() -> None:
    failing = Scripted(["So far. ", UpstreamError("secret of the model")])
    async with serving(failing) as sites:
        events = await sites.send("go")
    assert text_of(events) == "So far. "
    assert events[-1]["code"] == "UPSTREAM_ERROR"
    assert events[-1]["message"] == "The remote agent failed (UPSTREAM_ERROR)."


async def test_an_agent_that_is_not_there_is_told() -> None:
    async with serving() as sites:
        front = Bridge()
        front.add("remote", SuperAgentAdapter(sites.remote, "nobody"))
        async with serve(front.app(anonymous=True)) as near:
            stream = await post(near, "remote", **run_input("go"))
    assert stream.events[-1]["code"] == "UPSTREAM_ERROR"
    assert "no such agent" in stream.events[-1]["message"]


async def test_scopes_do_not_share_a_remote_session() -> None:
    seen: list[str] = []

    async def remember(run: Run) -> AsyncIterator[RunItem]:
        seen.append(run.thread_id)
        yield str(len(run.messages))

    def who(request: Request) -> Any:
        return by_token(request)

    async with serving(Scripted(remember), authenticate=who) as sites:
        for token in ("ann", "eve", "bob"):
            events = await sites.send("hi", token=token, run=token)
            assert events[-1]["outcome"] == {"type": "success"}
    ann, eve, bob = seen
    assert ann == bob != eve
    assert {ann, eve}.isdisjoint({"t"})
