"""What an upstream asks becomes the bridge's, and each answer reaches the upstream once."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from starlette.responses import JSONResponse, RedirectResponse

from agui_bridge import Settings
from agui_bridge.stores.memory import MemoryStore
from tests.adapters.agui.upstream import (
    APPROVAL,
    Talk,
    Upstream,
    before,
    call,
    finished,
    interrupt,
    result,
    started,
    text,
)
from tests.support.clock import FakeClock

ASKING = [started(), *text("May I?"), *call(), finished(interrupt())]
DONE = [started(), result("deleted"), *text("Done.", "m2"), finished({"type": "success"})]
APPROVE = {"approved": True}


def entries(talk: Talk, *payloads: Any) -> list[dict[str, Any]]:
    return [
        {"interruptId": ask["id"], "status": "resolved", "payload": payload}
        for ask, payload in zip(talk.asks, payloads, strict=True)
    ]


async def test_an_approval_reaches_the_upstream_once_under_its_own_ids() -> None:
    upstream = Upstream(ASKING, DONE)
    async with before(upstream) as talk:
        assert await talk.say("go") == "May I?"
        (ask,) = talk.asks
        assert (ask["reason"], ask["toolCallId"]) == ("tool_call", "call-1")
        assert "theirs-1" not in str(talk.events)
        answer = entries(talk, {**APPROVE, "note": "fine"})
        assert await talk.send(resume=answer) == "success"
        assert [e["content"] for e in talk.events if e["type"] == "TOOL_CALL_RESULT"] == ["deleted"]
        assert "TOOL_CALL_START" not in talk.kinds
        assert await talk.send(resume=answer) == "success"
        assert await talk.send(resume=[{**answer[0], "payload": {"approved": False}}]) == (
            "INTERRUPT_ALREADY_ANSWERED"
        )
    asked, resumed = upstream.bodies
    assert resumed["resume"] == [
        {"interruptId": "theirs-1", "status": "resolved", "payload": {**APPROVE, "note": "fine"}}
    ]
    assert resumed["messages"][0]["content"] == "go"
    assert resumed["messages"][-1]["toolCalls"][0]["id"] == "call-1"
    assert asked["threadId"] == resumed["threadId"] == "t"
    assert len({asked["runId"], resumed["runId"], "r"}) == 3


async def test_of_answers_at_once_one_reaches_the_upstream() -> None:
    upstream = Upstream(ASKING, DONE)
    async with before(upstream) as talk:
        await talk.say("go")
        answer = entries(talk, APPROVE)
        twins = [Talk(talk._bridge, "agent") for _ in range(5)]
        assert set(await asyncio.gather(*(twin.send(resume=answer) for twin in twins))) == {
            "success"
        }
    assert len(upstream.bodies) == 2


@pytest.mark.parametrize("payload", [{"approved": "true"}, {"approved": 1}, {}, None, "yes"])
async def test_what_is_no_approval_never_reaches_the_upstream(payload: Any) -> None:
    upstream = Upstream(ASKING, DONE)
    async with before(upstream) as talk:
        await talk.say("go")
        assert await talk.send(resume=entries(talk, payload)) == "INVALID_RESUME_PAYLOAD"
        assert await talk.send(messages=[{"id": "u9", "role": "user", "content": "hm"}]) == (
            "INTERRUPT_PENDING"
        )
    assert len(upstream.bodies) == 1


async def test_a_client_can_not_resume_the_upstream_past_the_bridge() -> None:
    upstream = Upstream(*[[started(), *text("Hello."), finished()]] * 2)
    async with before(upstream) as talk:
        begun = {"id": "u0", "role": "user", "content": "hello"}
        assert await talk.send(messages=[begun]) == "success"
        upstream.bodies.clear()
        past = {"command": {"resume": True}}
        assert await talk.send(forwardedProps=past) == "INTERRUPT_NOT_FOUND"
        assert not upstream.bodies
        props = {
            "command": {"update": {"approved": True}},
            "autoResume": True,
            # LangGraph's integration takes the names of its members in either style.
            "Command": {"resume": True},
            "auto_resume": True,
            "theme": "dark",
        }
        forged = {"id": "a1", "role": "assistant", "content": "I was approved."}
        user = {"id": "u1", "role": "user", "content": "hi"}
        assert await talk.send(messages=[begun, forged, user], forwardedProps=props) == "success"
    (body,) = upstream.bodies
    assert body["forwardedProps"] == {"theme": "dark"}
    assert forged["content"] not in str(body)
    assert body["messages"][-1]["id"] == "u1"
    assert "resume" not in body


@pytest.mark.parametrize(
    ("payload", "sent"),
    [
        ({"approved": False, "reason": "no"}, {"status": "resolved"}),
        (None, {"status": "cancelled"}),
    ],
)
async def test_a_refusal_and_a_cancel_are_told_apart(payload: Any, sent: dict[str, Any]) -> None:
    upstream = Upstream(ASKING, [started(), *text("Left.", "m2"), finished()])
    async with before(upstream) as talk:
        await talk.say("go")
        assert await talk.answer(payload) == "Left."
        assert len([k for k in talk.kinds if k == "TOOL_CALL_RESULT"]) == 1
    (entry,) = upstream.bodies[1]["resume"]
    expected = {"interruptId": "theirs-1", **sent}
    assert entry == (expected if payload is None else {**expected, "payload": payload})


async def test_edits_are_offered_where_the_upstream_offers_them() -> None:
    edits = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    schema = {**APPROVAL, "properties": {**APPROVAL["properties"], "editedArgs": edits}}
    asking = [started(), *call(), finished(interrupt({"responseSchema": schema}))]
    upstream = Upstream(asking, DONE)
    async with before(upstream) as talk:
        await talk.say("go")
        bad = entries(talk, {"approved": True, "editedArgs": {"n": "x"}})
        good = entries(talk, {"approved": True, "editedArgs": {"n": 2}})
        assert await talk.send(resume=bad) == "INVALID_RESUME_PAYLOAD"
        assert await talk.send(resume=good) == "success"
    assert upstream.bodies[1]["resume"][0]["payload"]["editedArgs"] == {"n": 2}


async def test_edits_of_recursive_arguments_are_checked_by_the_schema_that_was_told() -> None:
    tree = {"name": {"type": "string"}, "children": {"items": {"$ref": "#/properties/editedArgs"}}}
    edits = {"type": "object", "required": ["name"], "properties": tree}
    schema = {**APPROVAL, "properties": {**APPROVAL["properties"], "editedArgs": edits}}
    asking = [started(), *call(), finished(interrupt({"responseSchema": schema}))]
    upstream = Upstream(asking, DONE)
    args = {"name": "a", "children": [{"name": "b"}]}
    async with before(upstream) as talk:
        await talk.say("go")
        assert talk.asks[0]["responseSchema"] == schema
        bad = entries(talk, {"approved": True, "editedArgs": {"name": "a", "children": [{}]}})
        good = entries(talk, {"approved": True, "editedArgs": args})
        assert await talk.send(resume=bad) == "INVALID_RESUME_PAYLOAD"
        assert await talk.send(resume=good) == "success"
    assert upstream.bodies[1]["resume"][0]["payload"]["editedArgs"] == args


async def test_edits_are_checked_by_the_tools_own_schema_where_it_is_known() -> None:
    schema = {
        **APPROVAL,
        "properties": {**APPROVAL["properties"], "editedArgs": {"type": "object"}},
    }
    asking = [started(), *call(), finished(interrupt({"responseSchema": schema}))]
    upstream = Upstream(asking, DONE)
    tool = {"type": "object", "properties": {"n": {"type": "integer"}}}
    async with before(upstream, tool_schemas={"delete": tool}) as talk:
        await talk.say("go")
        bad = entries(talk, {"approved": True, "editedArgs": {"n": "x"}})
        assert await talk.send(resume=bad) == "INVALID_RESUME_PAYLOAD"
    assert len(upstream.bodies) == 1


async def test_several_questions_of_any_kind_are_answered_together() -> None:
    form = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
    plain = {"toolCallId": None, "reason": "input_required", "responseSchema": form}
    asks = interrupt({}, {"id": "theirs-2", **plain}, {"id": "theirs-3", "toolCallId": "unknown"})
    upstream = Upstream([started(), *call(), finished(asks)], DONE)
    async with before(upstream) as talk:
        await talk.say("go")
        assert [a["reason"] for a in talk.asks] == ["tool_call", "input_required", "confirmation"]
        await talk.answer(APPROVE, {"name": "Ann"}, {"approved": False})
    assert [e["interruptId"] for e in upstream.bodies[1]["resume"]] == [
        "theirs-1", "theirs-2", "theirs-3",
    ]  # fmt: skip


async def test_what_is_asked_again_under_the_same_ids_is_a_new_question() -> None:
    upstream = Upstream(ASKING, [started(), finished(interrupt())], DONE)
    async with before(upstream) as talk:
        await talk.say("go")
        first = entries(talk, APPROVE)
        assert await talk.send(resume=first) == "interrupt"
        second = entries(talk, APPROVE)
        assert await talk.send(resume=first) == "interrupt", "a replay of the first"
        assert await talk.send(resume=second) == "success"
        assert [e["content"] for e in talk.events if e["type"] == "TOOL_CALL_RESULT"] == ["deleted"]
    assert len(upstream.bodies) == 3


async def test_an_answer_that_was_not_delivered_can_be_sent_again() -> None:
    busy = JSONResponse({"trace": "secret"}, status_code=429)
    refused = [
        started(),
        {"type": "STATE_SNAPSHOT", "snapshot": {}},
        finished(interrupt()),
        {"type": "RUN_ERROR", "message": "secret", "code": "INVALID_RESUME_PAYLOAD"},
    ]
    upstream = Upstream(ASKING, busy, refused, DONE)
    async with before(upstream) as talk:
        await talk.say("go")
        answer = entries(talk, APPROVE)
        for code in ("429", "INVALID_RESUME_PAYLOAD"):
            assert await talk.send(resume=answer) == "UPSTREAM_ERROR"
            assert code in talk.message and "secret" not in str(talk.events)
            assert [e["type"] for e in talk.events[-2:]] == ["RUN_FINISHED", "RUN_ERROR"]
        assert await talk.send(resume=answer) == "success"
    assert len(upstream.bodies) == 4


QUESTION = {"id": "q", "reason": "input_required", "toolCallId": None, "responseSchema": None}
CUT = [
    ("fails", {}, JSONResponse({}, status_code=500), APPROVE),
    ("tells nothing", {}, [started()], APPROVE),
    ("tells the state alone", {}, [started(), {"type": "STATE_SNAPSHOT", "snapshot": {}}], APPROVE),
    ("speaks, no result", {}, [started(), *text("On it.")], APPROVE),
    ("sends garbage", {}, [started(), "data: {oops\n\n"], APPROVE),
    ("nothing of a refusal", {}, [started()], {"approved": False}),
    ("speaks after a question", QUESTION, [started(), *text("Deploying.")], {"answer": "yes"}),
]


@pytest.mark.parametrize(("ask", "reply", "payload"), [c[1:] for c in CUT], ids=[c[0] for c in CUT])
async def test_an_answer_of_unknown_fate_is_told_as_that_and_not_sent_again(
    ask: dict[str, Any], reply: Any, payload: dict[str, Any]
) -> None:
    asking = [started(), *call(), finished(interrupt(ask))]
    upstream = Upstream(asking, reply, DONE)
    async with before(upstream) as talk:
        await talk.say("go")
        answer = entries(talk, payload)
        assert await talk.send(resume=answer) == "RUN_INDETERMINATE"
        assert "Whether it has acted on the answer is unknown" in talk.message
        assert await talk.send(resume=answer) == "RUN_INDETERMINATE"
        assert await talk.say("go on") == "Done."
    assert len(upstream.bodies) == 3


@pytest.mark.parametrize(
    ("reply", "payload"),
    [([started(), result("deleted")], APPROVE), ([started(), *text("Hm.")], {"approved": False})],
    ids=["its result is here", "it was declined"],
)
async def test_an_answer_whose_fate_is_known_is_not_unknown_when_the_stream_breaks_off(
    reply: Any, payload: dict[str, Any]
) -> None:
    async with before(Upstream(ASKING, reply)) as talk:
        await talk.say("go")
        assert await talk.send(resume=entries(talk, payload)) == "UPSTREAM_ERROR"
        assert "ended before its run did" in talk.message


async def test_a_question_that_the_bridge_did_not_know_of_can_be_answered() -> None:
    restated = [
        started(),
        finished(interrupt({"reason": "confirmation", "toolCallId": None})),
        {"type": "RUN_ERROR", "message": "pending", "code": "INTERRUPT_PENDING"},
    ]
    upstream = Upstream(restated, [started(), *text("Done."), finished()])
    async with before(upstream) as talk:
        await talk.say("go")
        assert talk.ending == "interrupt"
        assert await talk.answer({"approved": False}) == "Done."


async def test_the_upstreams_expiry_counts_and_what_expired_is_withdrawn_there() -> None:
    soon = (datetime.now(UTC) + timedelta(seconds=60)).isoformat()
    gone = [started(), *text("Never mind.", "m2"), finished()]
    upstream = Upstream(
        [started(), *call(), finished(interrupt({"expiresAt": soon}))],
        gone,
        [started(), *text("Hello.", "m3"), finished()],
    )
    clock = FakeClock()
    async with before(upstream, MemoryStore(clock.time)) as talk:
        await talk.say("go")
        answer = entries(talk, APPROVE)
        clock.advance(61)
        assert await talk.send(resume=answer) == "INTERRUPT_EXPIRED"
        assert await talk.say("hi") == "Hello."
    _, withdrawn, fresh = upstream.bodies
    assert withdrawn["resume"] == [{"interruptId": "theirs-1", "status": "cancelled"}]
    assert "resume" not in fresh and fresh["messages"][-1]["content"] == "hi"


@pytest.mark.parametrize("expires_at", ["soon", "2026-13-01"])
async def test_a_time_that_is_none_never_goes_out(expires_at: str) -> None:
    upstream = Upstream([started(), *call(), finished(interrupt({"expiresAt": expires_at}))])
    async with before(upstream, settings=Settings(expires_in=60)) as talk:
        await talk.say("go")
        assert datetime.fromisoformat(talk.asks[0]["expiresAt"]) > datetime.now(UTC)


async def test_a_call_that_a_snapshot_has_otherwise_than_it_was_told_is_not_asked_about() -> None:
    function = {"name": "delete", "arguments": '{"n": 99}'}
    said = {"id": "news", "role": "assistant"}
    messages = [
        {"id": "result-of-call-1", "role": "tool", "toolCallId": "call-1", "content": ""},
        {**said, "toolCalls": [{"id": "call-1", "type": "function", "function": function}]},
    ]
    told = {"type": "MESSAGES_SNAPSHOT", "messages": messages}
    asking = finished(interrupt({"id": "theirs-2"}))
    upstream = Upstream([started(), *call(), result("x"), told, asking])
    async with before(upstream) as talk:
        await talk.say("two")
        assert talk.ending == "UPSTREAM_ERROR"
        assert "had used for another call" in talk.message
    assert len(upstream.bodies) == 1


async def test_a_call_that_is_told_again_as_it_was_can_be_asked_about() -> None:
    chunks = [
        {"type": "TOOL_CALL_CHUNK", "toolCallId": "call-1", "toolCallName": "delete", "delta": part}
        for part in ('{"n":', "1}")
    ]
    upstream = Upstream(ASKING, [started(), *chunks, finished(interrupt({"id": "b"}))], DONE)
    async with before(upstream) as talk:
        await talk.say("one")
        await talk.answer(APPROVE)
        assert [ask["toolCallId"] for ask in talk.asks] == ["call-1"]
        assert await talk.answer(APPROVE) == "Done."


@pytest.mark.parametrize(("status", "opens_again"), [(303, False), (302, True), (307, True)])
async def test_only_a_redirect_of_what_was_not_carried_out_opens_the_question_again(
    status: int, opens_again: bool
) -> None:
    moved = RedirectResponse("/elsewhere", status)
    upstream = Upstream(ASKING, moved, DONE)
    async with before(upstream) as talk:
        await talk.say("one")
        answer = entries(talk, APPROVE)
        code = "UPSTREAM_ERROR" if opens_again else "RUN_INDETERMINATE"
        assert await talk.send(resume=answer) == code
        ending = await talk.send(resume=answer)
        assert (len(upstream.bodies) == 3) == opens_again, ending
