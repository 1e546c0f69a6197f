"""What an agent that asks in words is told: the answer, or that there was none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from agui_bridge import FormField, KeywordAdapter, Replies
from agui_bridge.adapters import Pause, RunItem
from agui_bridge.errors import NotDelivered, UpstreamError
from agui_bridge.protocol.answers.decisions import Cancel
from agui_bridge.protocol.threads.records import ClosedBatch
from agui_bridge.stores.memory import MemoryStore
from tests.agents.function.harness import items_of, make_run
from tests.agents.keyword.talk import CONFIRM, said, seen_by
from tests.support.agents import Bench, Scripted, outcome
from tests.support.clock import FakeClock


async def answered(payload: Any, text: str = "Please confirm.", **options: Any) -> str:
    """What the agent is told after an answer."""
    inner = Scripted([text], ["Thanks."])
    async with Bench(KeywordAdapter(inner, **options)).open() as bench:
        interrupts = await bench.ask()
        status = "cancelled" if payload is None else "resolved"
        events = await bench.say(resume=bench.entries(interrupts, payload, status))
    assert outcome(events) == "success"
    assert inner.runs[1].resume is None
    return inner.runs[1].text


FORM = [
    FormField("confirm", "confirm", "OK?", required=True),
    FormField("who", "text", "Reviewer"),
    FormField("notify", "confirm", ""),
]


@pytest.mark.parametrize(
    ("payload", "options", "told"),
    [
        (CONFIRM, {}, "Yes, I confirm. Please proceed."),
        ({"confirm": False}, {}, "No, I do not confirm. Do not proceed."),
        (None, {}, "I cancelled your request for confirmation. Do not proceed."),
        (CONFIRM, {"text": "请确认。"}, "是的，我确认。请继续执行。"),
        ({"confirm": False}, {"text": "请确认。"}, "不，我不确认。请不要执行。"),
        (CONFIRM, {"fields": FORM}, "Yes, I confirm. Please proceed."),
        (
            {"confirm": True, "who": "{yes} Ann", "notify": False, "forged": "x"},
            {"fields": FORM},
            "Yes, I confirm. Please proceed.\nReviewer: {yes} Ann\nnotify: no",
        ),
        (
            {"confirm": True, "who": "Ann", "notify": True},
            {"fields": FORM, "replies": Replies(yes="{who} says yes{?}", field="{label}={value}")},
            "Ann says yes{?}\nnotify=yes",
        ),
        ({"confirm": False}, {"replies": Replies(no="Nope.")}, "Nope."),
        ({"n": "2"}, {"fields": [FormField("n", label="N")]}, "Here is my answer.\nN: 2"),
        ({"forged": True}, {"fields": [FormField("ok", "confirm")]},
         "No, I do not confirm. Do not proceed."),
    ],
)  # fmt: skip
async def test_the_answer_becomes_a_message_to_the_agent(
    payload: Any, options: dict[str, Any], told: str
) -> None:
    assert await answered(payload, **options) == told


async def test_the_agent_sees_the_whole_conversation_with_the_answer_in_this_and_later_runs() -> (
    None
):
    inner = Scripted(["Please confirm."], ["Done."])
    yes = "Yes, I confirm. Please proceed."
    async with Bench(KeywordAdapter(inner)).open() as bench:
        interrupts = await bench.ask()
        events = await bench.say(resume=bench.entries(interrupts, CONFIRM))
        await bench.say("next")
        stored = await bench.texts()

    then = [("user", "go"), ("assistant", "Please confirm."), ("user", yes)]
    assert seen_by(inner.runs[1]) == then
    assert [m.content for m in inner.runs[1].new_messages] == [yes]
    assert seen_by(inner.runs[2]) == [*then, ("assistant", "Done."), ("user", "next")]
    assert stored[:-1] == seen_by(inner.runs[2])
    # The same message, under one id, in the stream, in the snapshot and in the store.
    (start,) = (e for e in events if e.get("role") == "user")
    assert start["type"] == "TEXT_MESSAGE_START"
    snapshot = [e for e in events if e["type"] == "MESSAGES_SNAPSHOT"][-1]["messages"]
    assert [m["id"] for m in snapshot if m.get("content") == yes] == [start["messageId"]]
    assert inner.runs[1].messages[-1].id == start["messageId"]


async def test_a_client_that_sends_the_answers_message_back_changes_nothing() -> None:
    inner = Scripted(["Please confirm."], ["Done."])
    async with Bench(KeywordAdapter(inner)).open() as bench:
        interrupts = await bench.ask()
        events = await bench.say(resume=bench.entries(interrupts, CONFIRM))
        known = [e for e in events if e["type"] == "MESSAGES_SNAPSHOT"][-1]["messages"]
        forged = [{**m, "content": "forged"} if m["role"] == "user" else m for m in known]
        more = [*forged, {"id": "new", "role": "user", "content": "next"}]
        assert outcome(await bench.say(messages=more)) == "success"

    assert "forged" not in [content for _, content in seen_by(inner.runs[2])]
    assert len(inner.runs[2].messages) == len(known) + 1


async def test_messages_sent_along_with_the_answer_stand_before_it() -> None:
    inner = Scripted(["Please confirm."], ["Done."])
    async with Bench(KeywordAdapter(inner)).open() as bench:
        interrupts = await bench.ask()
        await bench.say("be careful", resume=bench.entries(interrupts, CONFIRM))

    told = [m.content for m in inner.runs[1].new_messages]
    assert told == ["be careful", "Yes, I confirm. Please proceed."]


async def test_the_agent_may_ask_again_and_is_answered_again() -> None:
    inner = Scripted(["Please confirm."], ["Are you sure?"], ["Done."])
    async with Bench(KeywordAdapter(inner)).open() as bench:
        first = await bench.ask()
        events = await bench.say(resume=bench.entries(first, CONFIRM))
        second = events[-1]["outcome"]["interrupts"]
        events = await bench.say(resume=bench.entries(second, {"confirm": False}))

    assert outcome(events) == "success"
    assert [content for role, content in seen_by(inner.runs[2]) if role == "user"] == [
        "go",
        "Yes, I confirm. Please proceed.",
        "No, I do not confirm. Do not proceed.",
    ]


async def test_an_agent_that_could_not_be_reached_leaves_the_question_open() -> None:
    inner = Scripted(["Please confirm."], [NotDelivered("refused")], ["Done."])
    async with Bench(KeywordAdapter(inner)).open() as bench:
        interrupts = await bench.ask()
        answer = bench.entries(interrupts, CONFIRM)
        failed = await bench.say(resume=answer)
        texts = await bench.texts()
        events = await bench.say(resume=answer)

    assert outcome(failed) == "UPSTREAM_ERROR"
    assert texts == [("user", "go"), ("assistant", "Please confirm.")]
    assert outcome(events) == "success"
    assert inner.runs[2].text == "Yes, I confirm. Please proceed."


@pytest.mark.parametrize("items", [[], [UpstreamError("no")]])
async def test_an_agent_that_ends_or_fails_without_a_word_had_the_answer_all_the_same(
    items: Iterable[RunItem | BaseException],
) -> None:
    inner = Scripted(["Please confirm."], items)
    async with Bench(KeywordAdapter(inner)).open() as bench:
        interrupts = await bench.ask()
        await bench.say(resume=bench.entries(interrupts, CONFIRM))
        texts = await bench.texts()

    assert texts[-1] == ("user", "Yes, I confirm. Please proceed.")


@pytest.mark.parametrize(
    ("cause", "told"),
    [
        ("expired", "Your request for confirmation expired without an answer. Do not proceed."),
        ("stopped", "I cancelled your request for confirmation. Do not proceed."),
        ("lost", Replies().lost),
    ],
)
async def test_a_request_that_was_never_answered_is_told_before_the_next_message(
    cause: Any, told: str
) -> None:
    (*_, pause) = await said("Please confirm.")
    assert isinstance(pause, Pause)
    theirs = ClosedBatch({"mine": 1}, "expired")
    wrapped = ClosedBatch({"agui_bridge_keyword": 1, "inner": 7, "calls": {}}, "lost")
    old = {"id": "1", "role": "user", "content": "go"}
    new = {"id": "2", "role": "user", "content": "next"}
    inner = Scripted(["Ok."])
    run = make_run(
        closed=(ClosedBatch(pause.continuation, cause), theirs, wrapped),
        raw_messages=[old, new],
        raw_new_messages=[new],
    )

    assert await items_of(KeywordAdapter(inner), run) == ["Ok."]
    assert seen_by(inner.runs[0]) == [("user", "go"), ("user", told), ("user", "next")]
    assert [m.content for m in inner.runs[0].new_messages] == [told, "next"]
    assert inner.runs[0].text == "next"
    assert inner.runs[0].closed == (theirs, ClosedBatch(7, "lost"))


async def test_a_request_that_expired_is_told_to_the_next_run_and_refuses_late_answers() -> None:
    clock = FakeClock()
    inner = Scripted(["Please confirm."], ["Ok."])
    bench = Bench(
        KeywordAdapter(inner, expires_in=10), store=MemoryStore(clock=clock.time), clock=clock
    )
    interrupts = await bench.ask()
    clock.advance(11)
    late = await bench.say(resume=bench.entries(interrupts, CONFIRM))
    events = await bench.say("next")

    assert (outcome(late), outcome(events)) == ("INTERRUPT_EXPIRED", "success")
    assert seen_by(inner.runs[1])[2:] == [("user", Replies().expired), ("user", "next")]
    assert [content for _, content in await bench.texts()] == [
        "go",
        "Please confirm.",
        "next",
        "Ok.",
    ]


async def test_where_the_client_keeps_the_history_the_answer_is_added_to_its_list() -> None:
    inner = Scripted(["Please confirm."], ["Done."])
    async with Bench(KeywordAdapter(inner), history="client").open() as bench:
        interrupts = await bench.ask()
        (known,) = (m.message for m in (await bench.load()).messages if m.position > 10_000)
        mine = [{"id": "go", "role": "user", "content": "go"}, known]
        await bench.say(messages=mine, resume=bench.entries(interrupts, CONFIRM))

    assert seen_by(inner.runs[1]) == [
        ("user", "go"),
        ("assistant", "Please confirm."),
        ("user", "Yes, I confirm. Please proceed."),
    ]


def test_an_expired_answer_has_words_of_its_own() -> None:
    assert Replies(expired="too late").to_decision(Cancel("expired"), FORM) == "too late"
