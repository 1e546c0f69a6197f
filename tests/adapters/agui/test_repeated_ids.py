"""An endpoint that uses the ids of its calls again: the bridge's conversation has one for each."""

from __future__ import annotations

from typing import Any

import pytest

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

APPROVE = {"approved": True}
PAINT = {"name": "paint", "description": "Paint.", "parameters": {"type": "object"}}


def asking(number: int) -> list[Any]:
    return [
        *(started(), *call(args=f'{{"n": {number}}}')),
        finished(interrupt({"id": f"theirs-{number}"})),
    ]


def done(number: int) -> list[Any]:
    told = {**result(f"deleted {number}"), "messageId": f"result-{number}"}
    return [started(), told, *text("Done.", f"said-{number}"), finished({"type": "success"})]


def new_call(way: str, args: str) -> list[Any]:
    if way == "streamed":
        return call(args=args)
    if way == "in chunks":
        begin = {"type": "TOOL_CALL_CHUNK", "toolCallId": "call-1", "toolCallName": "delete"}
        return [begin, {"type": "TOOL_CALL_CHUNK", "toolCallId": "call-1", "delta": args}]
    function = {"name": "delete", "arguments": args}
    known = {"id": "result-1", "role": "tool", "toolCallId": "call-1", "content": "deleted 1"}
    said = {"id": "news", "role": "assistant"}
    news = {**said, "toolCalls": [{"id": "call-1", "type": "function", "function": function}]}
    return [{"type": "MESSAGES_SNAPSHOT", "messages": [known, news]}]


@pytest.mark.parametrize("way", ["streamed", "in chunks", "in a snapshot"])
async def test_what_is_asked_in_the_next_turn_is_about_the_call_that_would_run(way: str) -> None:
    again = [started(), *new_call(way, '{"n": 2}'), finished(interrupt({"id": "theirs-2"}))]
    upstream = Upstream(asking(1), done(1), again, done(2), [started(), finished()])
    async with before(upstream) as talk:
        await talk.say("one")
        assert talk.asks[0]["toolCallId"] == "call-1"
        assert await talk.answer(APPROVE) == "Done."
        await talk.say("two")
        assert [ask["toolCallId"] for ask in talk.asks] == ["call-2"]
        assert await talk.answer(APPROVE) == "Done."
        assert [e["toolCallId"] for e in talk.events if e["type"] == "TOOL_CALL_RESULT"] == [
            "call-2"
        ]
        await talk.say("three")
    answered = upstream.bodies[3]
    assert answered["resume"][0]["interruptId"] == "theirs-2"
    # While the turn lasts, the endpoint is told its own id.
    assert answered["messages"][-1]["toolCalls"][0]["id"] == "call-1"
    told = upstream.bodies[4]["messages"]
    results = {m["toolCallId"]: m["content"] for m in told if m["role"] == "tool"}
    assert results == {"call-1": "deleted 1", "call-2": "deleted 2"}


async def test_the_steps_of_one_run_may_use_an_id_again() -> None:
    second = {**result("deleted 2"), "messageId": "result-2"}
    upstream = Upstream(
        [
            *(started(), *call(), result("deleted 1"), *call(args='{"n": 2}'), second),
            *(*text("Done."), finished()),
        ],
        [started(), finished()],
    )
    async with before(upstream) as talk:
        assert await talk.say("both") == "Done."
        await talk.say("on")
    told = upstream.bodies[1]["messages"]
    results = {m["toolCallId"]: m["content"] for m in told if m["role"] == "tool"}
    assert results == {"call-1": "deleted 1", "call-2": "deleted 2"}


async def test_a_declined_call_is_not_taken_for_the_one_before_it() -> None:
    never = [started(), *text("Never mind.", "said-2"), finished()]
    upstream = Upstream(asking(1), done(1), asking(2), never, [started(), finished()])
    async with before(upstream) as talk:
        await talk.say("one")
        await talk.answer(APPROVE)
        await talk.say("two")
        assert await talk.answer({"approved": False, "reason": "no"}) == "Never mind."
        await talk.say("three")
    told = upstream.bodies[4]["messages"]
    results = {m["toolCallId"]: m["content"] for m in told if m["role"] == "tool"}
    assert results["call-1"] == "deleted 1"
    assert "no" in results["call-2"]
    assert results.keys() == {"call-1", "call-2"}


@pytest.mark.parametrize("mode", ["full", "new"])
async def test_the_applications_result_reaches_the_endpoint_under_its_own_id(mode: Any) -> None:
    painting = [started(), *call(name="paint"), finished()]
    painted = [started(), *text("It is done.", "said"), finished()]
    upstream = Upstream(painting, painted, painting, painted)
    async with before(upstream, history=mode) as talk:
        for number in (1, 2):
            await talk.say("paint", tools=[PAINT])
            (pending,) = talk.events[-1]["outcome"]["pendingToolCallIds"]
            assert pending == f"call-{number}"
            assert await talk.hand_back(f"painted {number}") == "It is done."
    sent = upstream.bodies[3]["messages"][-1]
    assert (sent["toolCallId"], sent["content"]) == ("call-1", "painted 2")


async def test_a_snapshots_result_of_an_earlier_call_is_not_that_of_the_one_that_waits() -> None:
    def made(number: int) -> list[Any]:
        function = {"name": "delete", "arguments": f'{{"n": {number}}}'}
        calls = [{"id": "call-1", "type": "function", "function": function}]
        content = f"deleted {number}"
        return [
            {"id": f"made-{number}", "role": "assistant", "toolCalls": calls},
            {"id": f"of-{number}", "role": "tool", "toolCallId": "call-1", "content": content},
        ]

    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": [*made(1), *made(2)]}
    resumed = [started(), snapshot, *text("Done.", "said-2"), finished()]
    upstream = Upstream(asking(1), done(1), asking(2), resumed, [started(), finished()])
    async with before(upstream) as talk:
        await talk.say("one")
        await talk.answer(APPROVE)
        await talk.say("two")
        assert await talk.answer(APPROVE) == "Done."
        await talk.say("three")
    told = upstream.bodies[4]["messages"]
    results = {m["toolCallId"]: m["content"] for m in told if m["role"] == "tool"}
    assert results == {"call-1": "deleted 1", "call-2": "deleted 2"}
