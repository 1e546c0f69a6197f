"""The bytes and shapes on the wire, for clients of 1.0 and from before."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from ag_ui.core import AgentCapabilities, Event
from ag_ui.encoder import EventEncoder
from pydantic import TypeAdapter

from agui_bridge.adapters import Handoff, Run, RunItem
from tests.http.conftest import Serving
from tests.support.agents import Answering, Scripted, approval, call_events
from tests.support.server import open_stream, run_input

EVENT: TypeAdapter[Any] = TypeAdapter(Event)


async def test_a_stream_is_data_lines_with_lf_and_the_headers_of_one(serving: Serving) -> None:
    async with serving(Scripted(["Grüße\r\n\u2028", " ende"])) as site:
        stream = await site.run("hi")
        assert stream.response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert stream.response.headers["cache-control"] == "no-cache, no-transform"
        assert stream.response.headers["x-accel-buffering"] == "no"
        raw = bytes(stream.raw)
        assert b"\r" not in raw and raw.endswith(b"\n\n")
        frames = raw.split(b"\n\n")[:-1]
        assert len(frames) == len(stream.events)
        for frame in frames:
            assert frame.startswith(b"data: {") and b"\n" not in frame


@pytest.mark.parametrize("version", ["1.0", None])
async def test_every_event_has_the_official_shape_and_no_nulls(
    serving: Serving, version: str | None
) -> None:
    agent = Answering(approval(expires_in=60))
    async with serving(agent) as site:
        asked = await site.ask(version=version)
        resume = [
            {"interruptId": asked[0]["id"], "status": "resolved", "payload": {"approved": True}}
        ]
        streams = [
            await site.run(None, version=version, resume=resume),
            await site.run(None, version=version, resume=resume),
            await site.run("more", version=version),
        ]
        for stream in streams:
            assert b":null" not in stream.raw
            for event in stream.events:
                official = EventEncoder().encode(EVENT.validate_python(event))
                assert json.loads(official.removeprefix("data: ")) == event


async def test_a_quiet_stream_gets_keep_alive_comments(serving: Serving) -> None:
    quiet = asyncio.Event()

    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "x"
        await quiet.wait()

    async with (
        serving(Scripted(script), keep_alive=0.02) as site,
        open_stream(site.base, **run_input("hi")) as stream,
    ):
        while stream.raw.count(b": keep-alive\n\n") < 3:
            assert await stream.step()
        quiet.set()
        await stream.rest()
        assert stream.kinds[-1] == "RUN_FINISHED"


async def test_events_are_sent_as_they_come(serving: Serving) -> None:
    go = [asyncio.Event() for _ in range(3)]

    async def script(run: Run) -> AsyncIterator[RunItem]:
        for number, event in enumerate(go):
            yield f"{number}"
            await event.wait()

    async with (
        serving(Scripted(script)) as site,
        open_stream(site.base, **run_input("hi")) as stream,
    ):
        for number, event in enumerate(go):
            content = await stream.until("TEXT_MESSAGE_CONTENT", number + 1)
            assert content["delta"] == str(number)
            event.set()
        await stream.rest()


async def test_thread_and_run_are_echoed_and_the_version_is_the_producers_own(
    serving: Serving,
) -> None:
    async with serving(Scripted(["x"])) as site:
        stream = await site.run("hi", thread="thread/ü", run="run 1", version="1.7")
        assert stream.events[0] == {
            "type": "RUN_STARTED",
            "threadId": "thread/ü",
            "runId": "run 1",
            "protocolVersion": "1.1",
        }
        assert stream.events[-1] == {
            "type": "RUN_FINISHED",
            "threadId": "thread/ü",
            "runId": "run 1",
            "outcome": {"type": "success"},
        }


async def test_a_client_from_before_1_0_gets_no_expiry_and_a_later_one_does(
    serving: Serving,
) -> None:
    async with serving(Answering(approval(expires_in=60))) as site:
        [old] = await site.ask(version=None, thread="old")
        [new] = await site.ask(thread="new")
        assert "expiresAt" not in old
        assert new["expiresAt"].endswith("Z") and len(new["expiresAt"]) == 24
        assert old.keys() | {"expiresAt"} == new.keys()
        pending = await site.run("more", version=None, thread="old")
        assert pending.events[-2]["outcome"]["interrupts"] == [old]


async def test_pending_calls_are_named_for_1_0_alone(serving: Serving) -> None:
    agent = Scripted([*call_events("c1", "pick"), Handoff(["c1"])])
    async with serving(agent) as site:
        new = await site.run("hi", thread="new")
        assert new.events[-1]["outcome"]["pendingToolCallIds"] == ["c1"]
        old = await site.run("hi", thread="old", version=None)
        assert old.events[-1]["outcome"] == {"type": "success"}


async def test_an_interrupt_shows_what_is_public_and_nothing_else(serving: Serving) -> None:
    ask = approval(metadata={"risk": "high"})
    async with serving(Answering(ask)) as site:
        [shown] = await site.ask()
        assert shown == {
            "id": shown["id"],
            "reason": "tool_call",
            "message": "May c1 run?",
            "toolCallId": "c1",
            "responseSchema": {
                "type": "object",
                "required": ["approved"],
                "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
            },
            "metadata": {"risk": "high"},
        }
        assert len(shown["id"]) >= 22
        [other] = await site.ask(thread="other")
        assert other["id"] != shown["id"]


async def test_what_json_cannot_say_is_replaced_on_the_way_out(serving: Serving) -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield "nul \x00, surrogate \ud800."
        run.result = {"nan": float("nan"), "set": {1}, "\x00": 1}

    async with serving(Scripted(script)) as site:
        stream = await site.run("hi")
        text = await stream.until("TEXT_MESSAGE_CONTENT")
        assert text["delta"] == "nul \ufffd, surrogate \ufffd."
        assert stream.events[-1]["result"] == {"nan": None, "set": [1], "\ufffd": 1}


async def test_capabilities_have_the_official_shape_and_say_what_is_true(serving: Serving) -> None:
    async with serving(Answering(edit=True, decline=False)) as site:
        response = await site.http.get("/agents/agent/capabilities")
        declared = AgentCapabilities.model_validate(response.json())
        assert not declared.model_extra
        people = declared.human_in_the_loop
        assert people is not None and not people.model_extra
        assert (people.supported, people.approvals, people.approve_with_edits) == (True, True, True)
        assert people.feedback is False
        assert declared.identity is not None
        assert (declared.identity.name, declared.identity.description) == ("agent", "For tests.")
        for group in (declared.identity, declared.transport, declared.state):
            assert group is not None and not group.model_extra


async def test_agents_are_listed_and_health_is_told(serving: Serving) -> None:
    async with serving() as site:
        agents = (await site.http.get("/agents")).json()["agents"]
        assert [(a["name"], a["description"]) for a in agents] == [("agent", "For tests.")]
        assert (await site.http.get("/healthz")).json()["status"] == "ok"
        assert (await site.http.get("/readyz")).json() == {"status": "ok"}
        assert (await site.http.head("/healthz")).status_code == 200
