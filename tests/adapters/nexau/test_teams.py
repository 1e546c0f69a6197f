"""Teams of NexAU behind the bridge: each case as a real NexAU told it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agui_bridge_nexau import NexauAdapter
from tests.adapters.nexau.teams.cases import CASES, Case
from tests.adapters.nexau.teams.replay import TEAM_RECORDINGS, TeamReplay
from tests.adapters.nexau.teams.story import tell
from tests.support.agents import Bench, outcome
from tests.support.server import serve

NOW = "The user says now:\n"


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
async def test_a_recorded_team_is_told_as_it_was(case: Case) -> None:
    replay = TeamReplay(TEAM_RECORDINGS / f"{case.name}.jsonl")
    story = await tell(case, replay.app, lambda _: None, replay.at_stop.wait)
    assert story.outcomes == case.outcomes
    shown = TEAM_RECORDINGS / f"{case.name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        shown.write_text("\n".join(story.shown) + "\n")
    assert story.shown == shown.read_text().splitlines()
    assert story.asked_by == case.asked_by
    assert [_named(body, case) for body in replay.sent] == case.sent
    assert bool(replay.stops) == case.stops
    # What is begun anew is told what was said, and what keeps its session only what is new.
    for body in replay.sent[1:]:
        assert (NOW in body["message"]) == ("~" in body["session_id"])


def test_each_recording_has_its_case() -> None:
    for kind in ("jsonl", "txt"):
        names = {path.stem for path in TEAM_RECORDINGS.glob(f"*.{kind}")}
        assert names == {case.name for case in CASES}


def _named(body: dict[str, Any], case: Case) -> tuple[str, str]:
    session, new, _ = body["session_id"].removeprefix(f"{case.name}-").partition("~")
    return session + new, body["message"].rpartition(NOW)[2]


def _frame(agent: str, **event: Any) -> str:
    envelope = {"agent_id": agent, "role_name": agent, "event": event}
    return f"data: {json.dumps({'type': 'team_event', 'envelope': envelope})}\n\n"


async def test_a_message_that_another_run_takes_is_told_as_unknown_and_stops_nothing() -> None:
    stops: list[Any] = []

    async def stream(_: Request) -> Response:
        frames = [_frame("leader", type="TEXT_MESSAGE_CONTENT", message_id="m", delta="theirs")]
        return StreamingResponse(iter(frames), media_type="text/event-stream")

    async def stop(request: Request) -> Response:
        stops.append(await request.json())
        return JSONResponse({"status": "stopped"})

    async def status(_: Request) -> Response:
        # It began after it was asked for.
        return JSONResponse({"running": False})

    app = Starlette(
        routes=[
            Route("/team/stream", stream, methods=["POST"]),
            Route("/team/stop", stop, methods=["POST"]),
            Route("/team/status", status),
        ]
    )
    async with serve(app, lifespan="off") as base:
        adapter = NexauAdapter(base, team=True)
        bench = Bench(adapter)
        events = await bench.say("go")
        await asyncio.sleep(0.1)
        await adapter.aclose()
    assert outcome(events) == "UPSTREAM_ERROR"
    assert "already running" in events[-1]["message"]
    assert "theirs" not in json.dumps(events)
    assert stops == []


async def test_the_variables_reach_a_team_and_a_message_is_needed() -> None:
    sent: list[Any] = []

    async def stream(request: Request) -> Response:
        sent.append(await request.json())
        run = {"run_id": "r", "root_run_id": "r"}
        frames = [
            _frame("leader", type="USER_MESSAGE", content="go"),
            _frame("leader", type="RUN_STARTED", **run),
            _frame("leader", type="RUN_FINISHED", **run),
            'data: {"type": "complete"}\n\n',
        ]
        return StreamingResponse(iter(frames), media_type="text/event-stream")

    app = Starlette(routes=[Route("/team/stream", stream, methods=["POST"])])
    async with serve(app, lifespan="off") as base:
        adapter = NexauAdapter(base, team=True)
        bench = Bench(adapter, acts_on_state=True)
        events = await bench.say("go", forwardedProps={"variables": {"a": 1}})
        assert outcome(events) == "success"
        nothing = await bench.say()
        await adapter.aclose()
    assert [body["variables"] for body in sent] == [{"a": 1}]
    assert "has none" in nothing[-1]["message"]


async def test_a_team_stopped_by_force_leaves_its_session_though_its_leader_said_nothing() -> None:
    sent: list[Any] = []
    stopped = asyncio.Event()
    run = {"run_id": "r", "root_run_id": "r"}

    async def frames(first: bool) -> AsyncIterator[str]:
        yield _frame("leader", type="USER_MESSAGE", content="go")
        yield _frame("leader", type="RUN_STARTED", **run)
        yield _frame("leader", type="RUN_FINISHED", **run)
        if first:
            # A teammate of an earlier run; it would go on with the session's next message.
            yield _frame("writer-1", type="RUN_STARTED", run_id="w", root_run_id="w")
            yield _frame("writer-1", type="TEXT_MESSAGE_CONTENT", message_id="m", delta="I write.")
            await stopped.wait()
        yield 'data: {"type": "complete"}\n\n'

    async def stream(request: Request) -> Response:
        sent.append(await request.json())
        return StreamingResponse(frames(len(sent) == 1), media_type="text/event-stream")

    async def stop(_: Request) -> Response:
        stopped.set()
        return JSONResponse({"status": "stopped"})

    async def status(_: Request) -> Response:
        return JSONResponse({"running": False})

    async def teammates(_: Request) -> Response:
        return JSONResponse([{"agent_id": "writer-1", "status": "running"}])

    app = Starlette(
        routes=[
            Route("/team/stream", stream, methods=["POST"]),
            Route("/team/stop", stop, methods=["POST"]),
            Route("/team/status", status),
            Route("/team/teammates", teammates),
        ]
    )
    async with serve(app, lifespan="off") as base:
        adapter = NexauAdapter(base, team=True)
        bench = Bench(adapter)
        reader = bench.begin("go")
        await reader.until("TEXT_MESSAGE_CONTENT")
        assert (await bench.engine.stop(bench.KEY, force=True)).status == "success"
        assert outcome(await reader.rest()) == "cancelled"
        assert outcome(await bench.say("next")) == "success"
        await adapter.aclose()
    one, other = sent
    assert one["session_id"] != other["session_id"]
    assert other["message"] == "go\n\nnext"
