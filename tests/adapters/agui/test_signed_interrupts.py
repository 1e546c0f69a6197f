"""What Agent Framework, CrewAI and Mastra sign: their questions, and what of an answer they get."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agui_bridge.engine.input.settings import Settings
from tests.adapters.agui.upstream import (
    Upstream,
    before,
    call,
    finished,
    interrupt,
    result,
    started,
    text,
)

SIGNED = {"agent_framework": {"type": "function_approval_request"}}
EDITED = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
THEIRS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "accepted": {"type": "boolean"},
        "n": {"type": "integer"},
        "editedArgs": EDITED,
    },
    "anyOf": [{"required": ["approved"]}, {"required": ["accepted"]}],
    "additionalProperties": False,
}
ASK = {"metadata": SIGNED, "responseSchema": THEIRS}
ASKING = [started(), *call(), finished(interrupt(ASK))]
DONE = [started(), result("deleted"), *text("Done.", "m2"), finished()]
FEEDBACK = {
    "id": "t",
    "reason": "crewai:human_feedback",
    "message": "Delete?",
    "responseSchema": {"type": "string", "enum": ["approved", "rejected"]},
    "metadata": {"crewai": {"flowId": "t"}},
}
IN_OUTCOME = [started(), finished({"type": "interrupt", "interrupts": [FEEDBACK]})]
AS_CUSTOM = [
    started(),
    {"type": "CUSTOM", "name": "on_interrupt", "value": FEEDBACK},
    finished(),
]


def payloads(upstream: Upstream) -> list[Any]:
    return [entry.get("payload") for entry in upstream.bodies[-1]["resume"]]


# --- AG2 ---


@pytest.mark.parametrize("answer", [{"approved": True}, None], ids=["approved", "cancelled"])
async def test_ag2_is_given_its_proof_back_which_no_client_sees(answer: Any) -> None:
    proof = {"ag2": {"proof": "secret"}}
    asking = {"metadata": {**proof, "more": 1}, "responseSchema": {"type": ["string", "boolean"]}}
    upstream = Upstream([started(), *call(), finished(interrupt(asking))], DONE)
    async with before(upstream) as talk:
        await talk.say("go")
        assert talk.asks[0]["metadata"] == {"more": 1}
        assert "secret" not in str(talk.events)
        await talk.answer(answer)
    (entry,) = upstream.bodies[-1]["resume"]
    assert (entry["metadata"], entry.get("payload")) == (proof, True if answer else None)


# --- Agent Framework ---


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        ({"approved": True}, {"approved": True}),
        ({"approved": True, "n": 2}, {"approved": True}),
        (
            {"approved": True, "editedArgs": {"n": 2}},
            {"approved": True, "editedArgs": {"n": 2}},
        ),
        ({"approved": False, "accepted": True, "reason": "no"}, {"approved": False}),
    ],
    ids=str,
)
async def test_of_an_approval_agent_framework_gets_the_decision_alone(
    answer: Any, sent: Any
) -> None:
    upstream = Upstream(ASKING, DONE)
    async with before(upstream) as talk:
        await talk.say("go")
        (ask,) = talk.asks
        assert set(ask["responseSchema"]["properties"]) == {"approved", "reason", "editedArgs"}
        await talk.answer(answer)
    assert payloads(upstream) == [sent]


async def test_what_agent_framework_would_take_for_an_approval_is_none() -> None:
    upstream = Upstream(ASKING, DONE)
    async with before(upstream) as talk:
        await talk.say("go")
        await talk.answer({"accepted": True})
        assert talk.ending == "INVALID_RESUME_PAYLOAD"
    assert len(upstream.bodies) == 1


async def test_a_mixed_answer_is_not_sent_to_agent_framework_and_may_be_changed() -> None:
    other = {**ASK, "id": "theirs-2", "toolCallId": "call-2"}
    asking = [started(), *call(), *call("call-2", args='{"n": 2}'), finished(interrupt(ASK, other))]
    upstream = Upstream(asking, [started(), *text("Very well.", "m2"), finished()])
    async with before(upstream) as talk:
        await talk.say("go")
        asked = talk.asks
        for rest in ({"approved": False}, None):
            await talk.answer({"approved": True}, rest)
            assert talk.ending == "UPSTREAM_ERROR"
            assert "approve all of them, or none" in talk.message
            restated = [e for e in talk.events if e["type"] == "RUN_FINISHED"][-1]
            assert restated["outcome"]["interrupts"] == asked
            assert len(upstream.bodies) == 1
            talk.events.remove(talk.events[-1])
        await talk.answer({"approved": False}, None)
        assert talk.ending == "success"


# --- CrewAI ---


@pytest.mark.parametrize("asking", [IN_OUTCOME, AS_CUSTOM], ids=["outcome", "custom"])
async def test_a_flows_feedback_goes_by_resume_however_it_was_asked_for(asking: Any) -> None:
    upstream = Upstream(asking, [started(), *text("Done."), finished()])
    async with before(upstream) as talk:
        await talk.say("go")
        (ask,) = talk.asks
        assert (ask["reason"], ask["message"]) == ("crewai:human_feedback", "Delete?")
        await talk.answer("approved")
        assert talk.ending == "success"
    assert upstream.bodies[1]["resume"] == [
        {"interruptId": "t", "status": "resolved", "payload": "approved"}
    ]
    assert "command" not in upstream.bodies[1]["forwardedProps"]


async def test_a_cancel_is_no_feedback_unless_the_author_says_which() -> None:
    cases: list[tuple[dict[str, Any], list[Any]]] = [({}, []), ({"cancel_with": "rejected"}, [1])]
    for options, resumed in cases:
        upstream = Upstream(IN_OUTCOME, [started(), *text("Done."), finished()])
        async with before(upstream, **options) as talk:
            await talk.say("go")
            await talk.answer(None)
            assert talk.ending == "success"
        assert len(upstream.bodies) == 1 + len(resumed)
        if resumed:
            assert payloads(upstream) == ["rejected"]


async def test_a_stopped_question_is_not_withdrawn_by_an_approval() -> None:
    upstream = Upstream(IN_OUTCOME, [started(), *text("You said: hello."), finished()])
    async with before(upstream) as talk:
        await talk.say("go")
        await talk._bridge.stop("agent", talk.thread)
        await talk.say("hello")
        assert talk.ending == "success"
    assert [body.get("resume") for body in upstream.bodies] == [None, None]


# --- Mastra's own package ---


def suspended(call_id: str, n: int, schema: Any = None) -> dict[str, Any]:
    told = {
        "type": "mastra_suspend",
        "toolCallId": call_id,
        "toolName": "delete",
        "suspendPayload": {"message": f"Delete {n}?"},
        "args": {"n": n},
        "resumeSchema": json.dumps(schema or YES_OR_NO),
        "runId": RUN,
    }
    return {"type": "CUSTOM", "name": "on_interrupt", "value": json.dumps(told)}


RUN = "the-run-of-mastra"
YES_OR_NO = {
    "type": "object",
    "required": ["approved"],
    "properties": {"approved": {"type": "boolean"}},
}
WORDS = {"type": "object", "required": ["why"], "properties": {"why": {"type": "string"}}}


async def test_a_suspended_tool_is_an_approval_of_a_call_that_nothing_else_tells_of() -> None:
    upstream = Upstream([started(), suspended("call-1", 1), finished()], DONE)
    async with before(upstream) as talk:
        await talk.say("go")
        (ask,) = talk.asks
        assert (ask["reason"], ask["toolCallId"], ask["message"]) == (
            "tool_call",
            "call-1",
            "Delete 1?",
        )
        assert RUN not in json.dumps(talk.events)
        await talk.answer({"approved": True})
        assert talk.ending == "success"
    assert upstream.bodies[1]["resume"] == [
        {"interruptId": f"{RUN}::call-1", "status": "resolved", "payload": {"approved": True}}
    ]


async def test_a_suspended_tool_that_asks_for_more_is_a_question() -> None:
    upstream = Upstream([started(), suspended("call-1", 1, WORDS), finished()], DONE)
    async with before(upstream) as talk:
        await talk.say("go")
        (ask,) = talk.asks
        assert (ask["reason"], ask["toolCallId"]) == ("input_required", "call-1")
        assert ask["responseSchema"] == WORDS
        await talk.answer({"why": "it is old"})
        assert talk.ending == "success"
    assert payloads(upstream) == [{"why": "it is old"}]


async def test_of_two_suspended_tools_one_goes_on_where_more_would_be_lost() -> None:
    asking = [started(), *call(), suspended("call-1", 1), suspended("call-2", 2), finished()]
    done = [started(), result("deleted", "call-2"), *text("Done.", "m2"), finished()]
    upstream = Upstream(asking, done)
    yes = {"approved": True}
    async with before(upstream) as talk:
        await talk.say("go")
        await talk.answer(yes, yes)
        assert talk.ending == "UPSTREAM_ERROR"
        assert "approve one, and decline or cancel the others" in talk.message
        assert len(upstream.bodies) == 1
        talk.events.pop()
        await talk.answer({"approved": False}, yes)
        assert talk.ending == "success"
    assert [entry["interruptId"] for entry in upstream.bodies[1]["resume"]] == [f"{RUN}::call-2"]


async def test_a_suspended_tool_that_nobody_answers_stays_suspended() -> None:
    upstream = Upstream([started(), suspended("call-1", 1), finished()], DONE)
    async with before(upstream) as talk:
        await talk.say("go")
        await talk.answer(None)
        assert talk.ending == "success"
    assert len(upstream.bodies) == 1


async def test_a_suspended_approval_that_can_not_be_pinned_takes_no_words() -> None:
    told = call("call-1", "delete", "[1]")
    upstream = Upstream([started(), *told, suspended("call-1", 1), finished()], DONE)
    async with before(upstream, settings=Settings(auto_resume="on")) as talk:
        await talk.say("go")
        assert [(a["reason"], a["toolCallId"]) for a in talk.asks] == [("input_required", "call-1")]
        await talk.say("yes")
        assert (talk.ending, len(upstream.bodies)) == ("interrupt", 1)
        assert "approved or declined explicitly" in talk.asks[0]["message"]
