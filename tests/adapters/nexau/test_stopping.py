"""Stops of a NexAU run, and the session that it leaves behind."""

from __future__ import annotations

import asyncio

import pytest

from agui_bridge.adapters import Run
from agui_bridge_nexau import NexauAdapter
from tests.adapters.nexau.bench import bench_of
from tests.adapters.nexau.simulator import Nexau
from tests.support.agents import Bench, eventually, outcome


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


async def test_a_session_that_stays_busy_fails_and_the_message_is_sent_with_the_next() -> None:
    server = Nexau()
    async with bench_of(server, busy_patience=0.0) as bench:
        second = NexauAdapter(bench.base, drain_timeout=5.0)
        first_reader = Bench(second).begin("theirs")
        await first_reader.until("TEXT_MESSAGE_CONTENT")
        failed = await bench.say("mine")
        assert (outcome(failed), "busy" in failed[-1]["message"]) == ("UPSTREAM_ERROR", True)
        server.go.set()
        await first_reader.rest()
        assert outcome(await bench.say("mine", "again")) == "success"
        await second.aclose()
    assert server.history["default", "t"][-3:] == ["mine", "again", "one two "]
