"""Threads and interrupts over HTTP: lists, details, stop, delete."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest

from agui_bridge.adapters import Run, RunItem
from agui_bridge.http.app.routes import ROUTES
from agui_bridge.http.endpoint import json_response
from tests.http.conftest import Serving, Site, by_token
from tests.support.agents import Answering, Scripted, approval
from tests.support.server import open_stream, run_input

STOP = "/agents/agent/threads/t/stop"


async def forever(run: Run) -> AsyncIterator[RunItem]:
    yield "partial"
    await asyncio.Event().wait()


async def approve(site: Site, asked: list[dict[str, Any]], **members: Any) -> None:
    resume = [
        {"interruptId": i["id"], "status": "resolved", "payload": {"approved": True}} for i in asked
    ]
    await site.run(None, resume=resume, **members)


async def test_threads_are_listed_last_touched_first_within_limit_and_before(
    serving: Serving,
) -> None:
    async with serving(Scripted(["x"])) as site:
        moment = [1_000.0]
        site.store._now = lambda: moment[0]
        for number in range(3):
            moment[0] += 10
            await site.run("hi", thread=f"t{number}")
        rows = (await site.http.get("/agents/agent/threads")).json()["threads"]
        assert [row["threadId"] for row in rows] == ["t2", "t1", "t0"]
        assert rows[0] == {
            "threadId": "t2",
            "status": "idle",
            "messageCount": 2,
            "openInterrupts": 0,
            "createdAt": "1970-01-01T00:17:10.000Z",
            "updatedAt": "1970-01-01T00:17:10.000Z",
        }
        for query, wanted in (("limit=1", ["t2"]), ("before=1020", ["t0"])):
            rows = (await site.http.get(f"/agents/agent/threads?{query}")).json()["threads"]
            assert [row["threadId"] for row in rows] == wanted


async def test_a_thread_shows_its_messages_state_and_open_questions(serving: Serving) -> None:
    async with serving() as site:
        asked = await site.ask(state={"n": 1})
        shown = (await site.http.get("/agents/agent/threads/t")).json()
        assert (shown["status"], shown["state"]) == ("interrupted", {"n": 1})
        assert [m["role"] for m in shown["messages"]] == ["user", "assistant"]
        call = {"id": "c1", "name": "send", "args": {"to": "c1"}}
        assert shown["interrupts"] == [{**asked[0], "toolCall": call}]
        assert shown["pendingToolCallIds"] == []
        await approve(site, asked)
        shown = (await site.http.get("/agents/agent/threads/t")).json()
        assert (shown["status"], shown["interrupts"]) == ("idle", [])


@pytest.mark.parametrize(
    "thread", ["team/42", "/", "a//b/", "a%2Fb", "a?b#c", "\u00e9 \u4e2d", "x/y/z"]
)
async def test_a_thread_is_found_whatever_characters_its_id_has(
    serving: Serving, thread: str
) -> None:
    async with serving() as site:
        asked = await site.ask(thread=thread)
        url = f"/agents/agent/threads/{quote(thread, safe='')}"
        assert (await site.http.get(url)).json()["threadId"] == thread
        [row] = (await site.http.get(f"{url}/interrupts")).json()["interrupts"]
        assert (row["id"], row["threadId"]) == (asked[0]["id"], thread)
        assert (await site.http.post(f"{url}/stop")).json()["status"] == "success"
        assert (await site.http.delete(url)).status_code == 204
        assert (await site.http.get(url)).status_code == 404


async def test_the_history_of_interrupts_says_what_when_and_who(serving: Serving) -> None:
    async with serving(authenticate=by_token, headers={"authorization": "Bearer ann"}) as site:
        response = await site.http.post("/agents/agent", json=run_input("go"))
        shown = (await site.http.get("/agents/agent/threads/t")).json()["interrupts"]
        resume = [
            {"interruptId": shown[0]["id"], "status": "resolved",
             "payload": {"approved": False, "reason": "no"}}
        ]  # fmt: skip
        response = await site.http.post(
            "/agents/agent",
            json=run_input(None, resume=resume),
            headers={"authorization": "Bearer bob"},
        )
        assert response.status_code == 200
        url = "/agents/agent/threads/t/interrupts"
        [row] = (await site.http.get(url)).json()["interrupts"]
        assert (row["agent"], row["threadId"], row["status"]) == ("agent", "t", "resolved")
        assert row["answer"] == {
            "status": "resolved",
            "payload": {"approved": False, "reason": "no"},
        }
        assert [(h["status"], h["actor"]) for h in row["history"]] == [
            ("open", "agent"),
            ("claimed", "bob"),
            ("resolved", "bob"),
        ]
        assert all(h["at"].endswith("Z") for h in row["history"])
        assert (await site.http.get(f"{url}?status=open")).json() == {"interrupts": []}
        assert len((await site.http.get(f"{url}?status=resolved")).json()["interrupts"]) == 1


async def test_open_interrupts_of_all_threads_are_listed(serving: Serving) -> None:
    async with serving(Answering(approval("c1"), approval("c2", expires_in=60))) as site:
        moment = [1_000.0]
        site.store._now = lambda: moment[0]
        for thread in ("a", "b"):
            await site.ask(thread=thread)
        rows = (await site.http.get("/interrupts?status=open")).json()["interrupts"]
        assert [(r["threadId"], r["toolCallId"]) for r in rows] == [
            ("a", "c1"), ("a", "c2"), ("b", "c1"), ("b", "c2"),
        ]  # fmt: skip
        assert rows[0]["answer"] is None
        assert len((await site.http.get("/interrupts?limit=1")).json()["interrupts"]) == 1
        moment[0] += 61
        rows = (await site.http.get("/interrupts?status=open")).json()["interrupts"]
        assert {r["toolCallId"] for r in rows} == {"c1"}


@pytest.mark.parametrize("body", [None, {}, {"force": True}, {"force": False, "timeout": 5.5}])
async def test_a_stop_answers_with_what_it_kept(serving: Serving, body: Any) -> None:
    async with (
        serving(Scripted(forever)) as site,
        open_stream(site.base, **run_input("go")) as stream,
    ):
        await stream.until("TEXT_MESSAGE_CONTENT")
        response = (
            await site.http.post(STOP, json=body)
            if body is not None
            else (await site.http.post(STOP))
        )
        assert response.status_code == 200
        told = response.json()
        messages = told.pop("messages")
        assert told == {
            "status": "success",
            "stopReason": "USER_INTERRUPTED",
            "messageCount": 2,
            "interruptedAtIteration": None,
            "partialResponse": "partial",
            "error": None,
        }
        assert messages[-1]["metadata"] == {"agui_bridge": {"truncated": True}}
        events = await stream.rest()
        assert events[-1]["outcome"] == {"type": "cancelled"}


async def test_stops_twice_at_once_of_an_idle_and_of_an_interrupted_thread(
    serving: Serving,
) -> None:
    async with serving(Scripted(forever, ["x"])) as site:
        async with open_stream(site.base, **run_input("go")) as stream:
            await stream.until("TEXT_MESSAGE_CONTENT")
            both = await asyncio.gather(*(site.http.post(STOP) for _ in range(2)))
            assert [r.json()["status"] for r in both] == ["success", "success"]
            await stream.rest()
        await site.run("more")
        idle = (await site.http.post(STOP)).json()
        assert (idle["status"], idle["stopReason"], idle["messageCount"]) == ("error", None, 4)
        assert idle["error"]
    async with serving() as site:
        await site.ask()
        assert (await site.http.post(STOP)).json()["status"] == "success"
        assert (await site.http.get("/interrupts?status=open")).json()["interrupts"] == []


async def test_a_deleted_thread_is_gone_with_its_questions(serving: Serving) -> None:
    async with serving() as site:
        await site.ask()
        response = await site.http.delete("/agents/agent/threads/t")
        assert (response.status_code, response.content) == (204, b"")
        assert (await site.http.get("/agents/agent/threads/t")).status_code == 404
        assert (await site.http.get("/interrupts")).json()["interrupts"] == []
        assert (await site.http.delete("/agents/agent/threads/t")).status_code == 404


async def test_deleting_a_running_thread_stops_it(serving: Serving) -> None:
    async with (
        serving(Scripted(forever)) as site,
        open_stream(site.base, **run_input("go")) as stream,
    ):
        await stream.until("TEXT_MESSAGE_CONTENT")
        assert (await site.http.delete("/agents/agent/threads/t")).status_code == 204
        assert (await stream.rest())[-1]["outcome"] == {"type": "cancelled"}


def below_a_thread() -> list[str]:
    """What the paths of the bridge have after a thread's id."""
    tails = {path.partition("{thread}")[2] for _, path, _ in ROUTES if "{thread}" in path}
    return sorted(tails - {""})


@pytest.mark.parametrize("tail", below_a_thread())
async def test_a_thread_that_would_share_anothers_paths_is_not_begun(
    serving: Serving, tail: str
) -> None:
    async with serving() as site:
        body = run_input("go", thread=f"a{tail}")
        refused = await site.http.post("/agents/agent", json=body)
        error = refused.json()["error"]
        assert (refused.status_code, error["code"]) == (422, "INVALID_INPUT")
        assert error["details"] == {"field": "threadId"} and tail in error["message"]
        assert await site.everything(f"a{tail}") == (None, (), [], [])
        assert (await site.run("go", thread=f"a{tail}s")).events[-1]["type"] == "RUN_FINISHED"


NONSENSE = ["limit=000000001999999", f"limit={'9' * 30}", "limit=0", "limit=1e2", "limit=%D9%A1"]


NOT_SECONDS = ["nan", "inf", "-1", "1_0", "1" * 30, "%201", f"1.{'0' * 5000}"]


@pytest.mark.parametrize("query", [*NONSENSE, *(f"before={value}" for value in NOT_SECONDS)])
async def test_a_limit_or_time_out_of_bounds_is_refused(serving: Serving, query: str) -> None:
    async with serving() as site:
        await site.ask()
        paths = ["/agents/agent/threads"]
        if query.startswith("limit"):
            paths += ["/interrupts", "/agents/agent/threads/t/interrupts"]
        for path in paths:
            refused = await site.http.get(f"{path}?{query}")
            assert (refused.status_code, refused.json()["error"]["code"]) == (422, "INVALID_INPUT")


async def test_the_interrupts_of_a_thread_are_limited_oldest_first(serving: Serving) -> None:
    async with serving(Answering(approval("a"), approval("b"))) as site:
        url = "/agents/agent/threads/t/interrupts"
        await site.ask()
        every = (await site.http.get(url)).json()["interrupts"]
        for limit in range(1, len(every) + 1):
            some = (await site.http.get(f"{url}?limit={limit}")).json()["interrupts"]
            assert [i["id"] for i in some] == [i["id"] for i in every[:limit]]


async def test_a_stop_with_an_empty_chunked_body_is_one_without_a_body(serving: Serving) -> None:
    async def nothing() -> AsyncIterator[bytes]:
        return
        yield b""

    async with serving() as site:
        await site.ask()
        stopped = await site.http.post(STOP, content=nothing())
        assert stopped.request.headers["transfer-encoding"] == "chunked"
        assert (stopped.status_code, stopped.json()["status"]) == (200, "success")
        wrong = await site.http.post(STOP, content=b"force=1")
        assert wrong.status_code == 415


def test_half_of_a_surrogate_pair_breaks_no_response() -> None:
    assert json_response({"x": "\ud800é"}).body == b'{"x":"\\ud800\\u00e9"}'


async def test_a_path_with_a_slash_at_its_end_is_unknown_and_redirects_nowhere(
    serving: Serving,
) -> None:
    async with serving() as site:
        answer = await site.http.get("/agents/", headers={"host": "evil.example"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")
        assert "location" not in answer.headers
