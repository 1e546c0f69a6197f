"""A workflow's pause when the server answers late, partly or not at all.

The stream is recorded; what follows it is made by hand, since no real server is late on demand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from agui_bridge_mastra import workflow as workflow_run
from agui_bridge_mastra.continuation import Paused
from tests.adapters.mastra.replay import Answer, Server
from tests.adapters.mastra.scripted import Talk, refuse, status
from tests.servers.mastra.recording import RECORDINGS

INPUT = '{"amount": 9}'
CONFIRM = {"confirmed": True}
STEP = {"type": "object", "required": ["confirmed"]}


def recorded(name: str) -> Iterator[Answer]:
    """What the server said in a scenario, in order."""
    kept = json.loads((RECORDINGS / f"{name}.json").read_text(encoding="utf-8"))
    for exchange in kept["exchanges"]:
        yield answer("".join(exchange["said"]), exchange["contentType"])


def answer(text: str, kind: str = "application/json") -> Answer:
    headers = {"content-type": kind}
    return lambda request: httpx.Response(200, content=text.encode(), headers=headers)


def talk_before(*answers: Answer, **options: Any) -> tuple[Talk, Server]:
    server = Server(*answers)
    return Talk(server, agent="refundWorkflow", kind="workflow", **options), server


async def test_a_definition_that_can_not_be_had_costs_the_schema_alone() -> None:
    stream, _, listed, *_ = recorded("workflow-step")
    for given in ({}, {"confirm-refund": STEP}):
        talk, _ = talk_before(stream, status(403), listed, step_schemas=given)
        await talk.say(INPUT)
        (ask,) = talk.asks

        assert ask["message"] == "Refund 9?"
        assert ask.get("responseSchema") == given.get("confirm-refund")


async def test_a_pause_that_is_listed_late_is_waited_for() -> None:
    stream, definition, listed, *_ = recorded("workflow-step")
    running = answer('{"status": "running", "steps": {"confirm-refund": {"status": "running"}}}')
    talk, server = talk_before(stream, definition, running, answer('{"steps": {}}'), listed)
    await talk.say(INPUT)

    assert [ask["message"] for ask in talk.asks] == ["Refund 9?"]
    assert server.used_up


async def test_a_pause_that_is_never_listed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow_run, "_LISTED_WITHIN", 0.4)
    stream, definition, *_ = recorded("workflow-step")
    talk, _ = talk_before(stream, definition, *(answer('{"steps": {}}') for _ in range(2)))
    await talk.say(INPUT)

    assert talk.error[0] == "UPSTREAM_ERROR"
    assert "does not list what for" in talk.error[1]


async def test_an_answer_whose_outcome_can_not_be_listed_is_never_sent_again() -> None:
    stream, definition, listed, resumed, *_ = recorded("workflow-twice")
    gone = refuse(httpx.ConnectError)
    talk, server = talk_before(stream, definition, listed, resumed, gone, gone)
    await talk.say('{"id": "1"}')
    asked = talk.events
    await talk.answer({"date": "2026-12-01"})
    assert "can't be reached" in talk.error[1]
    talk.events = asked
    await talk.answer({"date": "2026-12-01"})

    assert talk.error[0] == "UPSTREAM_ERROR"
    assert [path for path, _ in server.requests if path.endswith("resume-stream")] == [
        "/api/workflows/refundWorkflow/resume-stream"
    ]


def test_a_pause_that_was_stored_before_steps_had_paths_can_be_read() -> None:
    waiting = {"key": "ask", "approval": False, "call": "", "name": "ask", "args": {}}
    kept = Paused("w", "r", {}).to_json()
    del kept["abandoned"]
    read = Paused.from_json({**kept, "waiting": {"ask": waiting}})

    assert read.abandoned == []
    assert read.waiting["ask"].step == []
