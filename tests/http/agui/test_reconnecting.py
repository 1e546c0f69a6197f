"""`…/threads/{thread}/connect`: a thread as it stands, and what runs on it to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge import Bridge
from agui_bridge.adapters import Run, RunItem
from tests.http.conftest import Serving, Site, by_token
from tests.support.agents import Answering, Scripted, approval
from tests.support.folds import fold
from tests.support.server import Streamed, client, open_stream_at, run_input, serve

PATH = "/agents/agent/threads/t/connect"
SHOWN = ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]

Json = dict[str, Any]

METHODS = pytest.mark.parametrize("method", ["POST", "GET"])


def opened(site: Site, method: str, path: str = PATH, **members: Any) -> Any:
    """Come back to the thread; leaving the block closes the connection."""
    body = run_input(None, run="mine", **members) if method == "POST" else None
    return open_stream_at(site.base, path, body)


async def come(site: Site, method: str, path: str = PATH, **members: Any) -> Streamed:
    """Come back to the thread, and read to the end."""
    stream: Streamed
    async with opened(site, method, path, **members) as stream:
        await stream.rest()
    return stream


def halting() -> tuple[Scripted, asyncio.Event]:
    """An agent that says the rest once it is let go."""
    go = asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "one "
        yield "two "
        await go.wait()
        yield "three"

    return Scripted(script), go


@METHODS
async def test_an_idle_thread_is_shown_as_often_as_one_asks(serving: Serving, method: str) -> None:
    async with serving(Scripted(["Hello."])) as site:
        await site.run("hi", state={"seen": 1})
        before = await site.everything()
        for stream in (await come(site, method), await come(site, method)):
            assert stream.kinds == SHOWN
            assert stream.response.headers["content-type"].startswith("text/event-stream")
            assert stream.events[1]["snapshot"] == {"seen": 1}
            assert [m["content"] for m in stream.events[2]["messages"]] == ["hi", "Hello."]
            assert stream.events[-1]["outcome"] == {"type": "success"}
            assert stream.events[0]["threadId"] == "t"
            assert (stream.events[0]["runId"] == "mine") == (method == "POST")
        assert len(site.agent.runs) == 1
        assert await site.everything() == before


@METHODS
async def test_an_open_question_is_shown_and_can_be_answered(serving: Serving, method: str) -> None:
    async with serving(Answering(approval())) as site:
        asked = await site.ask()
        stream = await come(site, method)
        assert stream.kinds == SHOWN
        assert stream.events[-1]["outcome"] == {"type": "interrupt", "interrupts": asked}
        answer = {"interruptId": asked[0]["id"], "status": "resolved"}
        await site.run(None, resume=[{**answer, "payload": {"approved": True}}])
        assert len(site.agent.executed) == 1


@METHODS
async def test_a_run_that_goes_on_is_followed_live_to_its_end(
    serving: Serving, method: str
) -> None:
    agent, go = halting()
    async with serving(agent, on_disconnect="continue") as site:
        async with open_stream_at(site.base, "/agents/agent", run_input("go")) as left:
            await left.until("TEXT_MESSAGE_CONTENT", 2)
        async with opened(site, method) as stream:
            assert (await stream.until("TEXT_MESSAGE_CONTENT"))["delta"] == "one two "
            go.set()
            await stream.rest()
        assert stream.events[-1]["outcome"] == {"type": "success"}
        assert stream.events[0]["runId"] == stream.events[-1]["runId"]
        thread = (await site.http.get("/agents/agent/threads/t")).json()
        seen = fold(*stream.events)
        assert seen.messages == thread["messages"]
        assert thread["messages"][-1]["content"] == "one two three"


@METHODS
async def test_the_text_of_a_run_of_another_process_is_told_and_read_as_it_grows(
    serving: Serving, method: str
) -> None:
    agent, go = halting()
    async with serving(agent, on_disconnect="continue", text_interval=0.1) as there:
        other = Bridge(there.store)
        other.add("agent", Scripted(["never"]))
        async with serve(other.app(anonymous=True)) as base, client(base) as http:
            here = Site(base, other, there.store, agent, http)
            async with open_stream_at(there.base, "/agents/agent", run_input("go")) as left:
                said = await left.until("TEXT_MESSAGE_START")
            async with opened(here, method) as stream:
                assert (await stream.until("TEXT_MESSAGE_CONTENT"))["delta"] == "one two "
                thread = (await http.get("/agents/agent/threads/t")).json()
                assert thread["status"] == "running"
                assert [m["content"] for m in thread["messages"]] == ["go", "one two "]
                assert thread["messages"][-1]["id"] == said["messageId"]
                go.set()
                await stream.rest()
            thread = (await http.get("/agents/agent/threads/t")).json()
    assert fold(*stream.events).messages == thread["messages"]
    assert [m["content"] for m in thread["messages"]] == ["go", "one two three"]


async def test_of_the_body_only_the_ids_count(serving: Serving) -> None:
    async with serving(Answering(approval())) as site:
        (asked,) = await site.ask()
        before = await site.everything()
        approve = {"interruptId": asked["id"], "status": "resolved", "payload": {"approved": True}}
        said = run_input("more", run="mine", state={"x": 1}, resume=[approve])
        async with open_stream_at(site.base, PATH, said) as stream:
            await stream.rest()
        assert stream.kinds == SHOWN
        assert stream.events[-1]["outcome"]["interrupts"] == [asked]
        assert site.agent.executed == []
        assert await site.everything() == before


async def test_the_body_is_about_the_thread_of_the_path(serving: Serving) -> None:
    async with serving() as site:
        await site.ask()
        answer = await site.http.post(PATH, json=run_input(None, thread="another"))
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (422, "INVALID_INPUT")
        assert error["details"] == {"field": "threadId"}


@pytest.mark.parametrize("method", ["POST", "GET", "HEAD"])
async def test_a_thread_that_there_is_not_is_a_404_before_any_stream(
    serving: Serving, method: str
) -> None:
    async with serving(authenticate=by_token, headers={"authorization": "Bearer ann"}) as site:
        headers = {"authorization": "Bearer eve"}
        made = await site.http.post("/agents/agent", json=run_input("go"), headers=headers)
        assert made.status_code == 200
        # Eve's thread is none of Ann's.
        for thread in ("t", "nowhere"):
            path = f"/agents/agent/threads/{thread}/connect"
            body = run_input(None, thread=thread) if method == "POST" else None
            answer = await site.http.request(method, path, json=body)
            assert answer.status_code == 404
            if method != "HEAD":
                assert answer.json()["error"]["code"] == "THREAD_NOT_FOUND"


async def test_head_says_what_get_would_and_waits_for_nothing(serving: Serving) -> None:
    agent, go = halting()
    async with (
        serving(agent) as site,
        open_stream_at(site.base, "/agents/agent", run_input("go")) as running,
    ):
        await running.until("TEXT_MESSAGE_CONTENT")
        answer = await site.http.head(PATH)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        go.set()
        await running.rest()


async def test_a_client_is_told_in_its_own_dialect(serving: Serving) -> None:
    async with serving(expires_in=60.0) as site:
        await site.ask()
        old = await come(site, "POST", version=None)
        new = await come(site, "POST")
        assert "expiresAt" not in old.events[-1]["outcome"]["interrupts"][0]
        assert "expiresAt" in new.events[-1]["outcome"]["interrupts"][0]
        drafted = await site.http.get(PATH, params={"dialect": "draft"})
        assert '"outcome":"interrupt","interrupt":{' in drafted.text


async def test_a_run_goes_on_while_somebody_listens_and_stops_with_the_last(
    serving: Serving,
) -> None:
    agent, go = halting()
    async with serving(agent, on_disconnect="stop") as site:
        async with open_stream_at(site.base, "/agents/agent", run_input("go")) as first:
            await first.until("TEXT_MESSAGE_CONTENT", 2)
            second = opened(site, "GET")
            listening = await second.__aenter__()
            await listening.until("TEXT_MESSAGE_CONTENT")
        # The client that began it is gone.
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await listening.until("RUN_FINISHED")
        assert (await site.http.get("/agents/agent/threads/t")).json()["status"] == "running"
        await second.__aexit__(None, None, None)
        assert (await come(site, "GET")).events[-1]["type"] == "RUN_FINISHED"
        thread = (await site.http.get("/agents/agent/threads/t")).json()
        assert thread["messages"][-1]["content"] == "one two "
        assert thread["messages"][-1]["metadata"] == {"agui_bridge": {"truncated": True}}
        go.set()


async def test_no_thread_can_have_the_name_of_this_path(serving: Serving) -> None:
    async with serving() as site:
        answer = await site.http.post("/agents/agent", json=run_input("go", thread="a/connect"))
        error = answer.json()["error"]
        assert (answer.status_code, error["details"]) == (422, {"field": "threadId"})
        assert "/connect" in error["message"]


async def test_an_id_with_slashes_has_this_path_too(serving: Serving) -> None:
    async with serving() as site:
        await site.run("go", thread="a/b")
        stream = await come(site, "POST", "/agents/agent/threads/a%2Fb/connect", thread="a/b")
        assert stream.events[0]["threadId"] == "a/b"


async def test_too_many_readers_of_a_scope_are_refused(serving: Serving) -> None:
    agent, go = halting()
    async with (
        serving(agent, max_runs_per_scope=1) as site,
        open_stream_at(site.base, "/agents/agent", run_input("go")) as running,
    ):
        await running.until("TEXT_MESSAGE_CONTENT")
        async with opened(site, "GET") as stream:
            await stream.until("TEXT_MESSAGE_CONTENT")
            assert (await site.http.get(PATH)).status_code == 429
            go.set()
            await stream.rest()
        await running.rest()
