"""Stops of a NexAU run, and the session that it leaves behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agui_bridge.adapters import Run
from agui_bridge.protocol.answers.unexecuted import UNKNOWN
from agui_bridge.stores.memory import MemoryStore
from agui_bridge_nexau import NexauAdapter
from tests.adapters.nexau.bench import bench_of
from tests.adapters.nexau.simulator import Nexau
from tests.support.agents import Bench, eventually, outcome
from tests.support.server import serve
from tests.support.waiting import PATIENCE


@pytest.mark.parametrize("force", [False, True], ids=["graceful", "forced"])
async def test_a_stop_is_sent_before_the_stream_is_closed_and_reported_as_cancelled(
    force: bool,
) -> None:
    server = Nexau()
    async with bench_of(server) as bench:
        reader = bench.begin("go")
        await reader.until("TEXT_MESSAGE_CONTENT")
        stopped = await bench.engine.stop(bench.KEY, force=force)
        assert outcome(await reader.rest()) == "cancelled"
        await eventually(server.runs[0].over.is_set)
    assert (stopped.status, stopped.partial_response) == ("success", "one ")
    assert stopped.interrupted_at_iteration == 1
    assert [stop["force"] for stop in server.stops] == [force]
    assert server.log == ["started", "stop", "ended"]


@pytest.mark.parametrize("force", [False, True], ids=["graceful", "forced"])
async def test_a_stop_that_finds_no_running_agent_is_sent_again(force: bool) -> None:
    server = Nexau(unregistered=3)
    async with bench_of(server) as bench:
        reader = bench.begin("go")
        await reader.until("TEXT_MESSAGE_CONTENT")
        assert (await bench.engine.stop(bench.KEY, force=force)).status == "success"
        await reader.rest()
        await eventually(server.runs[0].over.is_set)
    assert len(server.stops) == 4
    assert not server.runs[0].closed


async def test_a_stop_before_the_run_has_begun_is_sent_once_it_has() -> None:
    server = Nexau()
    server.begin.clear()
    async with bench_of(server) as bench:
        reader = bench.begin("go")
        await eventually(lambda: bool(server.runs))
        stopping = asyncio.create_task(bench.engine.stop(bench.KEY))
        await asyncio.sleep(0)
        assert server.stops == []
        server.begin.set()
        assert (await stopping).status == "success"
        assert outcome(await reader.rest()) == "cancelled"
    assert server.log == ["started", "stop", "ended"]


async def test_a_stop_before_anything_was_sent_sends_nothing_until_the_next_run() -> None:
    server = Nexau()
    server.go.set()
    async with bench_of(server) as bench:
        run = Run("agent", "t", "r", bench.call("one").parsed.input, bench.call("one").principal)
        run.raw_messages = run.raw_new_messages = [{"id": "one", "role": "user", "content": "one"}]
        run.mint = lambda: "id"
        run.stop.request()
        assert [item async for item in bench.adapter.run(run)] == []
        assert server.runs == []
        await bench.say("one", "two")
    assert [m["content"][0]["text"] for m in server.runs[0].body["messages"]] == ["one", "two"]


async def test_the_next_run_begins_only_after_the_stopped_one_has_ended() -> None:
    server = Nexau()
    async with bench_of(server) as bench:
        reader = bench.begin("go")
        await reader.until("TEXT_MESSAGE_CONTENT")
        await bench.engine.stop(bench.KEY, force=True)
        await reader.rest()
        following = bench.begin("more")
        await eventually(lambda: len(server.runs) == 2)
        server.go.set()
        assert outcome(await following.rest()) == "success"
    assert server.log == ["started", "stop", "ended", "started", "ended"]
    assert server.history["default", "t"] == ["go", "one ", "more", "one two "]


async def test_a_client_that_goes_away_stops_the_run_there_and_the_session_is_free() -> None:
    server = Nexau()
    async with bench_of(server) as bench:
        reader = bench.begin("go", disconnect="stop")
        await reader.until("TEXT_MESSAGE_CONTENT")
        reader.leave()
        await eventually(server.runs[0].over.is_set)
        await eventually(lambda: not bench.engine.running)
        assert server.stops
        server.go.set()
        assert outcome(await bench.say("more")) == "success"
    assert "locked" not in server.log
    assert "client gone" not in server.log


async def test_a_session_that_another_process_uses_is_tried_again_for_a_while() -> None:
    server = Nexau()
    async with bench_of(server) as bench:
        second = NexauAdapter(bench.base, drain_timeout=5.0)
        first = Bench(second).begin("theirs")
        await first.until("TEXT_MESSAGE_CONTENT")
        reader = bench.begin("mine")
        await eventually(lambda: "locked" in server.log)
        server.go.set()
        assert outcome(await reader.rest()) == "success"
        await first.rest()
        await second.aclose()
    assert server.history["default", "t"] == ["theirs", "one two ", "mine", "one two "]


async def test_a_session_that_stays_locked_is_left_for_a_new_one_that_has_the_conversation() -> (
    None
):
    server = Nexau()
    server.go.set()
    async with bench_of(server, busy_patience=0.0) as bench:
        await bench.say("before")
        server.leaked.add("t")
        assert outcome(await bench.say("mine")) == "success"
        assert outcome(await bench.say("again")) == "success"
    new = server.runs[-1].body["session_id"]
    assert new.startswith("t~")
    assert [run.body["session_id"] for run in server.runs] == ["t", "t", new, new]
    assert [[m["role"] for m in run.body["messages"]] for run in server.runs[2:]] == [
        ["user", "assistant", "user"], ["user"],
    ]  # fmt: skip
    assert server.history["default", new] == [
        "before", "one two ", "mine", "one two ", "again", "one two ",
    ]  # fmt: skip


async def test_a_conversation_whose_run_was_lost_goes_on_in_a_new_session_with_all_of_it() -> None:
    server, store = Nexau(), MemoryStore()
    async with bench_of(server, store=store, lease_seconds=0.3) as bench:
        lost = bench.begin("go")
        await lost.until("TEXT_MESSAGE_CONTENT")
        bench.engine.running[bench.KEY].owner.lost = True
        await lost.rest()
        server.go.set()
        other = Bench(bench.adapter, store=store, busy_patience=PATIENCE)
        assert outcome(await other.say("more")) == "success"
    last = server.runs[-1].body
    assert last["session_id"].startswith("t~")
    users = [m["content"][0]["text"] for m in last["messages"] if m["role"] == "user"]
    assert users == ["go", "more"]


async def test_a_message_that_takes_the_place_of_another_is_said_in_a_new_session() -> None:
    server = Nexau()
    server.go.set()
    async with bench_of(server) as bench:
        await bench.say("one")
        await bench.say("two")
        known = [stored.message for stored in (await bench.load()).messages]
        edited = {"id": "edited", "role": "user", "content": "three"}
        assert outcome(await bench.say(messages=[*known[:2], edited])) == "success"
        # The last answer once more.
        known = [stored.message for stored in (await bench.load()).messages]
        assert outcome(await bench.say(messages=known[:3])) == "success"
    told = [[m["content"][0]["text"] for m in run.body["messages"]] for run in server.runs]
    assert told == [["one"], ["two"], ["one", "one two ", "three"], ["one", "one two ", "three"]]
    assert len({run.body["session_id"] for run in server.runs}) == 3


@pytest.mark.parametrize("seconds", [7.5, 60.0])
async def test_the_timeout_of_a_stop_reaches_the_server(seconds: float) -> None:
    server = Nexau()
    async with bench_of(server) as bench:
        reader = bench.begin("go")
        await reader.until("TEXT_MESSAGE_CONTENT")
        await bench.engine.stop(bench.KEY, timeout=seconds)
        await reader.rest()
    assert [stop["timeout"] for stop in server.stops] == [seconds]


async def test_the_timeout_of_a_stop_is_cut_where_the_adapter_has_its_own() -> None:
    server = Nexau()
    async with bench_of(server, stop_timeout=5.0) as bench:
        reader = bench.begin("go")
        await reader.until("TEXT_MESSAGE_CONTENT")
        await bench.engine.stop(bench.KEY, timeout=60.0)
        await reader.rest()
    assert [stop["timeout"] for stop in server.stops] == [5.0]


@pytest.mark.parametrize("comes", [True, False], ids=["a_result", "no_result"])
async def test_a_tool_that_goes_on_after_a_forced_stop_is_unknown_until_its_result_comes(
    comes: bool,
) -> None:
    stopped, done = asyncio.Event(), asyncio.Event()

    async def frames() -> AsyncIterator[str]:
        start = {"type": "TOOL_CALL_START", "tool_call_id": "c", "tool_call_name": "pay"}
        for event in (
            {"type": "RUN_STARTED"},
            start,
            {"type": "TOOL_CALL_END", "tool_call_id": "c"},
        ):
            yield f"data: {json.dumps(event)}\n\n"
        await done.wait()
        if comes:
            result = {"type": "TOOL_CALL_RESULT", "tool_call_id": "c", "content": "paid"}
            yield f"data: {json.dumps(result)}\n\n"
        yield 'data: {"type":"RUN_FINISHED","result":"Stop signal received."}\n\n'

    async def stream(_: Any) -> Response:
        return StreamingResponse(frames(), media_type="text/event-stream")

    async def stop(_: Any) -> Response:
        stopped.set()
        return JSONResponse({"status": "success"})

    routes = [Route(f"/{f.__name__}", f, methods=["POST"]) for f in (stream, stop)]
    async with serve(Starlette(routes=routes), lifespan="off") as base:
        adapter = NexauAdapter(base)
        bench = Bench(adapter, cancel_grace=PATIENCE)
        reader = bench.begin("go")
        await reader.until("TOOL_CALL_END")
        await bench.engine.stop(bench.KEY, force=True)
        await reader.rest()
        assert stopped.is_set()
        (_, call, told) = [stored.message for stored in (await bench.load()).messages]
        assert call["toolCalls"][0]["function"]["arguments"] == "{}"
        assert told["content"] in UNKNOWN
        done.set()
        if comes:
            async with asyncio.timeout(PATIENCE):
                while (await bench.load()).messages[-1].message["content"] != "paid":
                    await asyncio.sleep(0.01)
        await adapter.aclose()
        assert ((await bench.load()).messages[-1].message["content"] == "paid") is comes
