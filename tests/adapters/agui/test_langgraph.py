"""LangGraph's older interrupts: a CUSTOM event asks, `forwardedProps.command` answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agui_bridge import Settings
from agui_bridge.stores.memory import MemoryStore
from tests.adapters.agui.upstream import (
    Upstream,
    before,
    finished,
    interrupt,
    started,
    text,
)
from tests.support.clock import FakeClock

DONE = [started(), *text("Done.", "m2"), finished()]


def asking(*values: Any) -> list[Any]:
    events = [{"type": "CUSTOM", "name": "on_interrupt", "value": value} for value in values]
    return [started(), *events, finished()]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("Go on?", "Go on?"),
        ({"question": "Go on?", "n": 1}, "Go on?"),
        (json.dumps({"message": "Go on?"}), "Go on?"),
        ({"n": 1}, '{"n": 1}'),
        ({"id": "theirs", "n": 1}, '{"n": 1}'),
    ],
)
async def test_the_answer_goes_into_the_command(value: Any, message: str) -> None:
    upstream = Upstream(asking(value), DONE)
    async with before(upstream, dialect="0.x") as talk:
        await talk.say("go")
        (ask,) = talk.asks
        assert (ask["reason"], ask["message"]) == ("langgraph:interrupt", message)
        assert "CUSTOM" not in talk.kinds
        assert "theirs" not in json.dumps(ask)
        assert await talk.answer({"ok": False}) == "Done."
    body = upstream.bodies[1]
    assert body["forwardedProps"] == {"command": {"resume": {"ok": False}}}
    assert "resume" not in body and "protocolVersion" not in body


async def test_several_questions_need_ids_in_their_values() -> None:
    upstream = Upstream(asking({"id": "a"}, {"id": "b"}), DONE)
    async with before(upstream) as talk:
        await talk.say("go")
        assert await talk.answer(1, 0) == "Done."
    assert upstream.bodies[1]["forwardedProps"]["command"] == {"resume": {"a": 1, "b": 0}}
    async with before(Upstream(asking("a?", "b?"))) as talk:
        await talk.say("go")
        assert "could not be told apart" in talk.message


async def test_a_cancel_is_told_only_in_words_that_the_graph_has() -> None:
    upstream = Upstream(asking("Go on?"), DONE)
    async with before(upstream) as talk:
        await talk.say("go")
        assert await talk.answer(None) == ""
        assert talk.ending == "success"
    assert len(upstream.bodies) == 1
    upstream = Upstream(asking("Go on?"), DONE)
    async with before(upstream, cancel_with=False) as talk:
        await talk.say("go")
        assert await talk.answer(None) == "Done."
    assert upstream.bodies[1]["forwardedProps"]["command"] == {"resume": False}


async def test_what_expired_is_cancelled_before_the_next_message() -> None:
    upstream = Upstream(asking("Go on?"), DONE)
    clock, settings = FakeClock(), Settings(expires_in=60)
    async with before(
        upstream, MemoryStore(clock.time), settings=settings, cancel_with=False
    ) as talk:
        await talk.say("go")
        clock.advance(61)
        assert await talk.say("never mind") == "Done."
    assert [body["forwardedProps"] for body in upstream.bodies] == [
        {},
        {"command": {"resume": False}},
        {},
    ]


async def test_where_both_ways_are_used_the_current_one_counts() -> None:
    both = [*asking("Go on?")[:-1], finished(interrupt({"toolCallId": None, "reason": "x"}))]
    upstream = Upstream(both, DONE)
    async with before(upstream) as talk:
        await talk.say("go")
        assert [ask["reason"] for ask in talk.asks] == ["x"]
        await talk.answer({"approved": True})
    assert upstream.bodies[1]["resume"][0]["interruptId"] == "theirs-1"
