"""Questions that belong to a tool call, texts in place of its result, declines and null answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from agui_bridge.adapters import Ask, Pause, Run, RunItem
from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.answers.decisions import Answer, Cancel, Decision, Decline, Respond
from agui_bridge.protocol.answers.unexecuted import UNTOLD
from agui_bridge.protocol.threads.records import InterruptStatus, ToolCall
from agui_bridge.stores.memory import MemoryStore
from tests.support.agents import (
    Answering,
    Bench,
    Reader,
    Scripted,
    approval,
    call_events,
    outcome,
    result,
)

Events = list[dict[str, Any]]


class Questioning(Scripted):
    """Begins a call, asks what belongs to it, and tells the decision as the call's result."""

    def __init__(self, *asks: Ask, **capabilities: bool) -> None:
        super().__init__(self._script, **capabilities)
        self.decisions: Mapping[str, Decision] = {}
        self._asks = asks

    async def _script(self, run: Run) -> AsyncIterator[RunItem]:
        if run.resume is None:
            for event in call_events("c1", "ask_user"):
                yield event
            yield Pause(self._asks)
            return
        self.decisions = run.resume.decisions
        yield result("c1", next(iter(self.decisions.values())).text)


def results(events: Events) -> dict[str, str]:
    return {e["toolCallId"]: e["content"] for e in events if e["type"] == "TOOL_CALL_RESULT"}


# --- a question about a call ---


async def test_a_question_is_shown_at_its_call_and_answered_as_a_question() -> None:
    adapter = Questioning(Ask("n", message="Which colour?", about="c1"))
    bench = Bench(adapter)
    (asked,) = await bench.ask()
    assert (asked["toolCallId"], asked["reason"]) == ("c1", "input_required")
    assert "responseSchema" not in asked

    events = await bench.say(resume=bench.entries([asked], payload="blue"))

    assert adapter.decisions == {"n": Answer("blue")}
    assert results(events) == {"c1": "blue"}
    (row,) = (await bench.load(asked["id"])).interrupts.values()
    assert row.status is InterruptStatus.RESOLVED


async def test_a_cancelled_question_leaves_its_call_to_the_agent() -> None:
    adapter = Questioning(Ask("n", about="c1"))
    bench = Bench(adapter)

    events = await bench.say(resume=bench.entries(await bench.ask(), status="cancelled"))

    assert adapter.decisions == {"n": Cancel()}
    assert results(events) == {"c1": "The question was cancelled; nobody answered it."}


async def test_what_a_stopped_question_leaves_of_its_call_is_unknown() -> None:
    bench = Bench(Questioning(Ask("n", about="c1")))
    await bench.ask()
    await bench.engine.stop(bench.KEY)

    assert (await bench.texts())[-1] == ("tool", UNTOLD)


async def test_another_process_asks_about_the_same_call() -> None:
    store = MemoryStore()
    (asked,) = await Bench(Questioning(Ask("n", about="c1")), store=store).ask()
    refused = await Bench(Questioning(Ask("n", about="c1")), store=store).say("more")
    restated = next(e for e in refused if e["type"] == "RUN_FINISHED")["outcome"]["interrupts"]
    assert restated == [asked]


async def test_a_question_about_a_call_that_nobody_began_is_refused() -> None:
    bench = Bench(Scripted([Pause([Ask("n", about="elsewhere")])], ["next"]))
    assert outcome(await bench.say("go")) == "AGENT_PROTOCOL_ERROR"
    assert outcome(await bench.say("more")) == "success"


async def test_a_question_may_be_about_the_call_that_is_asked_to_run() -> None:
    bench = Bench(Scripted([Pause([approval(), Ask("n", about="c1")])], ["next"]))
    assert [asked["toolCallId"] for asked in await bench.ask()] == ["c1", "c1"]


def test_a_question_about_a_call_is_not_its_approval() -> None:
    with pytest.raises(AgentMistake, match=r"Ask\.about must be None"):
        Ask("n", tool_call=ToolCall("c", "pay", {}), about="c")


@pytest.mark.parametrize(
    ("wrong", "place"), [({"id": 7}, "id"), ({"name": None}, "name"), ({"args": "{}"}, "args")]
)
def test_a_call_that_a_question_is_about_is_a_whole_one(wrong: dict[str, Any], place: str) -> None:
    with pytest.raises(AgentMistake, match=rf"Ask\.about\.{place} must be"):
        Ask("n", about=replace(ToolCall("c", "pay", {}), **wrong))


# --- a text in place of the tool's result ---


async def test_a_person_gives_the_result_and_the_tool_does_not_run() -> None:
    adapter = Answering(respond=True)
    bench = Bench(adapter)
    (asked,) = await bench.ask()
    assert "respond" in asked["responseSchema"]["properties"]

    payload = {"approved": False, "respond": "Sent by hand."}
    events = await bench.say(resume=bench.entries([asked], payload))

    assert outcome(events) == "success"
    assert adapter.executed == []
    assert adapter.runs[-1].resume is not None
    assert adapter.runs[-1].resume.decisions == {"native-c1": Respond("Sent by hand.", payload)}
    assert results(events) == {"c1": "Sent by hand."}
    again = await bench.say(resume=bench.entries([asked], payload))
    assert outcome(again) == "success"
    assert len(adapter.runs) == 2


async def test_it_is_neither_offered_nor_taken_unless_it_is_declared() -> None:
    adapter = Answering()
    bench = Bench(adapter)
    (asked,) = await bench.ask()
    assert "respond" not in asked["responseSchema"]["properties"]

    text = bench.entries([asked], {"approved": False, "respond": "Sent by hand."})
    assert outcome(await bench.say(resume=text)) == "INVALID_RESUME_PAYLOAD"
    assert outcome(await bench.say(resume=bench.entries([asked]))) == "success"
    assert len(adapter.executed) == 1


@pytest.mark.parametrize(
    ("members", "offered"),
    [
        ({"allowed": ("approve", "decline")}, False),
        ({"allowed": ("approve", "respond")}, True),
        ({"response_schema": {"type": "object", "properties": {"ticket": {}}}}, True),
    ],
)
async def test_a_question_may_offer_less_or_more_than_that(
    members: dict[str, Any], offered: bool
) -> None:
    (asked,) = await Bench(Answering(approval(**members), respond=True)).ask()
    assert ("respond" in asked["responseSchema"]["properties"]) is offered


# --- who decided ---


async def test_each_decision_names_who_took_it() -> None:
    asks = (approval("c1"), approval("c2"))
    adapter = Answering(*asks)
    bench = Bench(adapter)
    first, second = await bench.ask()
    for asked, actor in ((first, "ann"), (second, "bob")):
        call = bench.call(resume=bench.entries([asked]), actor=actor)
        dialect = replace(call.parsed.dialect, answers_singly=True)
        single = replace(call, parsed=replace(call.parsed, dialect=dialect))
        await Reader(*bench.engine.submit(single)).rest()

    resume = adapter.runs[-1].resume
    assert resume is not None
    assert {key: made.actor for key, made in resume.decisions.items()} == {
        "native-c1": "ann",
        "native-c2": "bob",
    }
    assert resume.actors == {"native-c1": "ann"}


# --- declines and null ---


async def test_a_question_that_may_be_declined_is() -> None:
    own = {"type": "object", "required": ["colour"], "properties": {"colour": {"type": "string"}}}
    adapter = Questioning(Ask("n", about="c1", response_schema=own, allowed=("answer", "decline")))
    bench = Bench(adapter)
    asks = await bench.ask()
    payload = {"declined": True, "reason": "private"}

    events = await bench.say(resume=bench.entries(asks, payload))

    assert adapter.decisions == {"n": Decline("private", payload)}
    assert results(events) == {"c1": "The user declined to answer. Reason: private"}


@pytest.mark.parametrize(
    ("ask", "capabilities"),
    [
        (Ask("n"), {}),
        (Ask("n", allowed=("approve", "decline")), {}),
        (Ask("n", allowed=("answer",)), {}),
        (Ask("n", allowed=("answer", "decline")), {"decline": False}),
    ],
)
async def test_without_the_offer_the_same_payload_is_an_answer(
    ask: Ask, capabilities: dict[str, bool]
) -> None:
    adapter = Questioning(ask, **capabilities)
    bench = Bench(adapter)
    await bench.say(resume=bench.entries(await bench.ask(), {"declined": True}))
    assert adapter.decisions == {"n": Answer({"declined": True})}


def test_an_answer_that_looks_like_a_decline_can_not_be_asked_for() -> None:
    schema = {"type": "object", "properties": {"declined": {"type": "boolean"}}}
    with pytest.raises(AgentMistake, match=r"Ask\.response_schema has a property 'declined'"):
        Ask("n", response_schema=schema, allowed=("answer", "decline"))


@pytest.mark.parametrize("schema", [None, {"type": ["string", "null"]}])
@pytest.mark.parametrize("allowed", [None, ("answer", "decline")])
async def test_null_is_no_answer_to_an_agent_that_can_not_be_told_it(
    schema: dict[str, Any] | None, allowed: tuple[str, ...] | None
) -> None:
    adapter = Questioning(Ask("n", response_schema=schema, allowed=allowed), null=False)
    bench = Bench(adapter)
    asks = await bench.ask()
    nothing = [{"interruptId": asks[0]["id"], "status": "resolved"}]

    assert outcome(await bench.say(resume=nothing)) == "INVALID_RESUME_PAYLOAD"
    assert outcome(await bench.say(resume=bench.entries(asks, ""))) == "success"
    assert adapter.decisions == {"n": Answer("")}


async def test_null_is_an_answer_to_every_other_agent() -> None:
    adapter = Questioning(Ask("n"))
    bench = Bench(adapter)
    (asked,) = await bench.ask()
    await bench.say(resume=[{"interruptId": asked["id"], "status": "resolved"}])
    assert adapter.decisions == {"n": Answer(None)}
