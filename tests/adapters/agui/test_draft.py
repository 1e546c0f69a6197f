"""Endpoints that speak the draft of interrupts, behind the bridge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from agui_bridge import Bridge
from agui_bridge_agui import AguiAdapter
from examples.approval_target import make_bridge
from tests.adapters.agui.upstream import (
    Talk,
    Upstream,
    before,
    call,
    finished,
    result,
    started,
    text,
)
from tests.support.server import serve

GOLDEN = Path(__file__).parents[2] / "golden" / "draft"
DIALECTS = ("auto", "draft", "1.0", "0.x")
ENDED = [started(), *text("Done.", "m2"), {**finished(), "outcome": "success"}]
spoken = pytest.mark.parametrize("dialect", DIALECTS)


def golden(name: str) -> list[Any]:
    return [(GOLDEN / f"{name}.sse").read_text()]


def asking(**interrupt: Any) -> list[Any]:
    return [started(), {**finished(), "outcome": "interrupt", "interrupt": interrupt}]


def answer(talk: Talk, payload: Any, status: str = "resolved") -> list[dict[str, Any]]:
    (ask,) = talk.asks
    entry = {"interruptId": ask["id"], "status": status}
    return [{**entry, "payload": payload} if status == "resolved" else entry]


@spoken
@pytest.mark.parametrize("payload", [{"type": "approve"}, {"type": "reject", "reason": "no"}])
async def test_a_tool_call_of_jobworkerp_is_answered_in_its_own_words(
    dialect: str, payload: dict[str, str]
) -> None:
    upstream = Upstream(golden("jobworkerp-interrupt"), golden("jobworkerp-approved"))
    async with before(upstream, dialect=dialect) as talk:
        await talk.say("what time is it?")
        (ask,) = talk.asks
        assert ask["reason"] == "tool_approval_required"
        assert "COMMAND___run" in ask["message"] and "date" in ask["message"]
        assert "int_xyz789" not in json.dumps(talk.events)
        entries = answer(talk, payload)
        assert await talk.send(resume=entries) == "success"
        assert talk.said == "現在の日時は..."
        told = [e["content"] for e in talk.events if e["type"] == "TOOL_CALL_RESULT"]
        assert told == ['{"output": "Wed Dec 25 10:30:00 JST 2024"}']
        assert await talk.send(resume=entries) == "success"
    asked, resumed = upstream.bodies
    assert "resume" not in asked
    assert resumed["resume"] == {"interruptId": "int_xyz789", "payload": payload}


@spoken
@pytest.mark.parametrize("approved", [True, False])
async def test_an_agent_that_ends_twice_is_answered_once(dialect: str, approved: bool) -> None:
    upstream = Upstream(golden("timestep-interrupt"), golden("timestep-answered"))
    async with before(upstream, dialect=dialect) as talk:
        await talk.say("weather in Oakland?")
        assert "get_weather" in talk.asks[0]["message"]
        entries = answer(talk, {"approved": approved})
        assert await talk.send(resume=entries) == "success"
        assert talk.said == "It is sunny in Oakland."
        assert await talk.send(resume=entries) == "success"
    assert [body.get("resume") for body in upstream.bodies] == [
        None,
        {"interruptId": "fc_68", "payload": {"approved": approved}},
    ]


@pytest.mark.parametrize("payload", [{"approved": "yes"}, {}, None])
async def test_what_is_no_approval_never_reaches_an_endpoint_of_the_draft(payload: Any) -> None:
    upstream = Upstream(golden("proposal-interrupt"), ENDED)
    async with before(upstream) as talk:
        await talk.say("send it")
        (ask,) = talk.asks
        assert (ask["reason"], ask["responseSchema"]["required"]) == ("confirmation", ["approved"])
        assert ask["message"].startswith('sendEmail {"to": "a@b.com"')
        (entry,) = answer(talk, payload)
        assert await talk.send(resume=[entry]) == "INVALID_RESUME_PAYLOAD"
        assert len(upstream.bodies) == 1
        assert await talk.send(resume=[{**entry, "payload": {"approved": True}}]) == "success"
    assert upstream.bodies[1]["resume"] == {
        "interruptId": "int-abc123",
        "payload": {"approved": True},
    }


async def test_the_whole_payload_goes_there_and_people_see_what_they_approve() -> None:
    upstream = Upstream(golden("proposal-complex"), ENDED)
    payload = {"approved": True, "modifications": {"batchSize": 10, "dryRun": True}}
    async with before(upstream) as talk:
        await talk.say("clean up")
        (ask,) = talk.asks
        assert ask["reason"] == "database_modification"
        assert "DELETE FROM users" in ask["message"] and ask["metadata"]["riskLevel"] == "high"
        assert await talk.send(resume=answer(talk, payload)) == "success"
    assert upstream.bodies[1]["resume"] == {"interruptId": "approval-001", "payload": payload}


async def test_a_cancelled_approval_is_told_as_a_no_and_another_question_is_left() -> None:
    upstream = Upstream(golden("proposal-interrupt"), ENDED, golden("proposal-complex"))
    async with before(upstream) as talk:
        await talk.say("send it")
        assert await talk.send(resume=answer(talk, None, "cancelled")) == "success"
        await talk.say("clean up")
        assert await talk.send(resume=answer(talk, None, "cancelled")) == "success"
    assert [body.get("resume") for body in upstream.bodies] == [
        None,
        {"interruptId": "int-abc123", "status": "cancelled", "payload": {"approved": False}},
        None,
    ]


async def test_an_interrupt_without_an_id_is_answered_without_one() -> None:
    upstream = Upstream(asking(payload={"message": "Which file?"}), ENDED)
    async with before(upstream) as talk:
        await talk.say("go")
        assert (talk.asks[0]["reason"], talk.asks[0]["message"]) == (
            "input_required",
            "Which file?",
        )
        assert await talk.send(resume=answer(talk, "a.txt")) == "success"
    assert upstream.bodies[1]["resume"] == {"payload": "a.txt"}


async def test_a_proposal_of_a_call_that_was_told_is_an_approval_of_that_call() -> None:
    proposal = {"tool": "delete", "args": {"n": 1}}
    asked = asking(id="i", reason="human_approval", payload={"proposal": proposal})
    upstream = Upstream(
        [asked[0], *call(), asked[1]],
        [started(), result("deleted"), *text("Done.", "m2"), finished()],
    )
    async with before(upstream) as talk:
        await talk.say("go")
        (ask,) = talk.asks
        assert (ask["reason"], ask["toolCallId"]) == ("tool_call", "call-1")
        assert await talk.send(resume=answer(talk, {"approved": True})) == "success"
        assert "deleted" in [e.get("content") for e in talk.events]


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"outcome": "interrupt"}, "does not tell for what"),
        ({"outcome": "error", "error": "secret"}, "malformed RUN_FINISHED"),
    ],
)
async def test_an_outcome_that_says_too_little_is_no_success(
    members: dict[str, Any], told: str
) -> None:
    async with before(Upstream([started(), {**finished(), **members}])) as talk:
        assert await talk.send(messages=[{"id": "u", "role": "user", "content": "go"}]) == (
            "UPSTREAM_ERROR"
        )
        assert told in talk.message and "secret" not in talk.message


def older_server(status: int) -> Any:
    """Refuses what it does not know, as servers from before 1.0 do."""

    def reply(body: dict[str, Any]) -> Response | list[Any]:
        if "protocolVersion" in body:
            return JSONResponse({"detail": "extra fields not permitted"}, status)
        return ENDED if "resume" in body else golden("proposal-interrupt")

    return reply


@pytest.mark.parametrize("status", [400, 422])
async def test_a_server_that_refuses_the_newer_shape_is_spoken_to_in_the_older_from_then_on(
    status: int,
) -> None:
    upstream = Upstream(older_server(status))
    async with before(upstream) as talk:
        await talk.say("send it")
        assert await talk.send(resume=answer(talk, {"approved": True})) == "success"
    versions = [body.get("protocolVersion") for body in upstream.bodies]
    assert versions == ["1.1", "1.0", None, None]


async def test_a_server_that_took_the_newer_shape_is_asked_once_when_it_refuses_later() -> None:
    upstream = Upstream(golden("proposal-interrupt"), JSONResponse({}, 422), ENDED)
    async with before(upstream) as talk:
        await talk.say("send it")
        entries = answer(talk, {"approved": True})
        assert await talk.send(resume=entries) == "UPSTREAM_ERROR"
        assert len(upstream.bodies) == 2
        assert await talk.send(resume=entries) == "success"


async def test_a_bridge_that_speaks_the_draft_is_fronted_by_another(tmp_path: Path) -> None:
    effects = tmp_path / "effects.jsonl"
    far = make_bridge("memory:", effects)
    async with serve(far.app(anonymous=True)) as base:
        near = Bridge("memory:")
        near.add("agent", AguiAdapter(f"{base}/agents/target?dialect=draft"))
        async with near.lifespan():
            talk = Talk(near, "agent")
            await talk.say("send ann")
            assert talk.asks[0]["reason"] == "tool_call"
            assert await talk.answer({"approved": True}) == "Outcome: sent to ann-0@example.com."
            await talk.say("send bob")
            assert await talk.answer({"approved": False}) == "Outcome: not sent."
            await talk.say("form ann")
            assert talk.asks[0]["responseSchema"]["required"]
            assert await talk.answer({"quarter": "Q2", "year": 2026}) == "Quarter: Q2 2026."
            await talk.say("confirm ann")
            assert await talk.answer({"confirm": True}) == "Confirmed."
    assert len(effects.read_text().splitlines()) == 1
