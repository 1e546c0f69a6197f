"""A sentence that seems a mention shows no card, but an act after it waits for an answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from ag_ui.core import ToolCallStartEvent

from agui_bridge import FunctionRun, KeywordAdapter
from agui_bridge.adapters import Adapter, Run, RunItem
from agui_bridge.stores.memory import MemoryStore
from tests.agents.function.effects import Effects
from tests.agents.keyword.talk import CONFIRM
from tests.agents.sentences.test_excuses import EXCUSED, SEED_EXAMPLES, TAKEN_FOR_MENTIONS
from tests.support.agents import Bench, Scripted, outcome, result

MENTION = "The job was waiting for your confirmation."
NO = {"confirm": False}
MakeAgent = Callable[[str, Effects], Adapter]


def by_function(text: str, effects: Effects) -> Adapter:
    """An agent that says the same and acts at every run, whatever it is told."""

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        for piece in text.partition(" "):
            yield piece
        await run.call("delete", {"what": "rows"}, effects.act)
        yield " Deleted."

    return KeywordAdapter(agent)


def by_adapter(text: str, effects: Effects, *, stop: bool = False) -> Adapter:
    """The same as an adapter, with its tools in its own hands."""

    async def script(run: Run) -> AsyncIterator[RunItem]:
        yield text
        yield ToolCallStartEvent(tool_call_id="c", tool_call_name="delete")
        if run.stop.requested:
            return
        effects.act("rows")
        yield result("c")
        yield " Deleted."

    return KeywordAdapter(Scripted(script, stop=stop))


def by_stopping_adapter(text: str, effects: Effects) -> Adapter:
    return by_adapter(text, effects, stop=True)


def by_two_wrappers(text: str, effects: Effects) -> Adapter:
    return KeywordAdapter(by_function(text, effects), phrases=["nothing like it"])


make_each = pytest.mark.parametrize(
    "make", [by_function, by_adapter, by_stopping_adapter, by_two_wrappers]
)


def messages(interrupts: list[dict[str, Any]]) -> list[str]:
    return [ask["message"] for ask in interrupts]


@pytest.mark.parametrize("make", [by_function, by_adapter])
@pytest.mark.parametrize("text", [*SEED_EXAMPLES, *TAKEN_FOR_MENTIONS])
async def test_what_follows_a_literal_phrase_is_asked_about_and_then_carried_out_once(
    text: str, make: MakeAgent, effects: Effects
) -> None:
    async with Bench(make(text, effects)).open() as bench:
        interrupts = await bench.ask()
        assert effects.done == []
        answer = bench.entries(interrupts, CONFIRM)
        assert outcome(await bench.say(resume=answer)) == "success"
        assert outcome(await bench.say(resume=answer)) == "success", "a replay"

    assert effects.done == ["rows"]


@pytest.mark.parametrize("text", EXCUSED)
async def test_what_follows_an_excused_phrase_is_carried_out_at_once(
    text: str, effects: Effects
) -> None:
    async with Bench(by_function(text, effects)).open() as bench:
        assert outcome(await bench.say("go")) == "success"

    assert effects.done == ["rows"]


@make_each
async def test_the_question_is_the_sentence_that_held_it(make: MakeAgent, effects: Effects) -> None:
    async with Bench(make(f"Done so far. {MENTION} Now I go on.", effects)).open() as bench:
        interrupts = await bench.ask()

    assert messages(interrupts) == [MENTION]
    assert effects.done == []


@make_each
@pytest.mark.parametrize(
    ("payload", "status"), [(NO, "resolved"), ({}, "cancelled")], ids=["declined", "cancelled"]
)
async def test_without_a_yes_it_is_not_carried_out_however_often_the_agent_tries(
    make: MakeAgent, payload: Any, status: str, effects: Effects
) -> None:
    async with Bench(make(MENTION, effects)).open() as bench:
        interrupts = await bench.ask()
        for _ in range(3):
            events = await bench.say(resume=bench.entries(interrupts, payload, status))
            interrupts = events[-1]["outcome"]["interrupts"]
            assert messages(interrupts) == [MENTION]
        assert effects.done == []
        events = await bench.say(resume=bench.entries(interrupts, CONFIRM))

    assert (outcome(events), effects.done) == ("success", ["rows"])


async def test_another_process_takes_the_yes_and_carries_it_out_once(effects: Effects) -> None:
    store = MemoryStore()
    async with Bench(by_function(MENTION, effects), store=store).open() as bench:
        answer = bench.entries(await bench.ask(), CONFIRM)
    benches = [Bench(by_function(MENTION, effects), store=store) for _ in range(2)]
    async with benches[0].open(), benches[1].open():
        for bench in benches:
            assert outcome(await bench.say(resume=answer)) == "success"

    assert effects.done == ["rows"]


async def test_a_turn_that_holds_and_carries_nothing_out_ends_as_usual() -> None:
    inner = Scripted([f"{MENTION} You will hear from them."], ["Hello."])
    async with Bench(KeywordAdapter(inner)).open() as bench:
        assert outcome(await bench.say("go")) == "success"
        assert outcome(await bench.say("next")) == "success"

    assert [message.content for message in inner.runs[1].messages if message.role == "user"] == [
        "go",
        "next",
    ]


async def test_an_agent_that_hears_the_answer_does_as_it_says(effects: Effects) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        if run.text.startswith("No"):
            yield "Left alone."
            return
        if not run.text.startswith("Yes"):
            yield f"{MENTION} "
        await run.call("delete", {"what": run.text[:3]}, effects.act)

    for payload, done in ((NO, []), (CONFIRM, ["Yes"])):
        async with Bench(KeywordAdapter(agent)).open() as bench:
            interrupts = await bench.ask()
            events = await bench.say(resume=bench.entries(interrupts, payload))
        assert (outcome(events), effects.done) == ("success", done)


async def test_a_yes_is_for_what_was_said_and_for_nothing_else(effects: Effects) -> None:
    said = iter(["Are you sure? ", "I drop the users. Are you sure? ", "Nothing else. "])

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield next(said)
        await run.call("drop", {"what": "all"}, effects.act)

    async with Bench(KeywordAdapter(agent)).open() as bench:
        interrupts = await bench.ask()
        events = await bench.say(resume=bench.entries(interrupts, CONFIRM))
        again = events[-1]["outcome"]["interrupts"]
        assert (messages(again), effects.done) == (["Are you sure?"], [])
        events = await bench.say(resume=bench.entries(again, CONFIRM))

    assert (outcome(events), effects.done) == ("success", ["all"])


@pytest.mark.parametrize("text", [MENTION, "Please confirm: delete a row."])
async def test_a_yes_is_for_one_time(text: str, effects: Effects) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        for number in "123":
            yield f"{text}\n"
            await run.call("delete", {"what": number}, effects.act, key=number)

    async with Bench(KeywordAdapter(agent)).open() as bench:
        interrupts = await bench.ask()
        events = await bench.say(resume=bench.entries(interrupts, CONFIRM))

    assert (outcome(events), effects.done) == ("interrupt", ["1"])


@pytest.mark.parametrize("text", [MENTION, "Please confirm: delete a row."])
async def test_what_was_done_before_the_sentence_uses_no_yes(text: str, effects: Effects) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        if run.text.startswith("Yes"):
            await run.call("delete", {"what": "a"}, effects.act, key="a")
        yield text
        await run.call("delete", {"what": "b"}, effects.act, key="b")

    async with Bench(KeywordAdapter(agent)).open() as bench:
        interrupts = await bench.ask()
        events = await bench.say(resume=bench.entries(interrupts, CONFIRM))

    assert (outcome(events), effects.done) == ("interrupt", ["a"])


async def test_a_yes_outlasts_a_question_of_the_agents_own(effects: Effects) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        approval = await run.approve("delete", {"what": "rows"})
        yield f"{MENTION} "
        if approval.approved:
            await run.tool(approval, effects.act)

    async with Bench(KeywordAdapter(agent)).open() as bench:
        asked: list[str] = []
        events = await bench.say("go")
        while outcome(events) == "interrupt" and len(asked) < 9:
            interrupts = events[-1]["outcome"]["interrupts"]
            asked.append(interrupts[0]["reason"])
            payload = CONFIRM if asked[-1] == "confirmation" else None
            assert effects.done == []
            events = await bench.say(resume=bench.entries(interrupts, payload))

    assert asked == ["tool_call", "confirmation", "tool_call"]
    assert (outcome(events), effects.done) == ("success", ["rows"])


async def test_with_a_card_only_what_asks_is_shown(effects: Effects) -> None:
    text = f"{MENTION} Please confirm: delete 3 rows."
    async with Bench(by_function(text, effects)).open() as bench:
        interrupts = await bench.ask()

    assert messages(interrupts) == ["Please confirm: delete 3 rows."]


async def test_a_sentence_over_several_lines_is_one_line_of_the_question(effects: Effects) -> None:
    text = "Please\r\nconfirm: delete\tit. Bye."
    async with Bench(by_function(text, effects)).open() as bench:
        interrupts = await bench.ask()

    assert messages(interrupts) == ["Please  confirm: delete\tit."]
