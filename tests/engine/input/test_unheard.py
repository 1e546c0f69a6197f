"""What a user said to an agent that could not be reached is brought to it with what comes next."""

from typing import Any

import pytest

from agui_bridge.adapters import Ask, Pause, Run
from agui_bridge.errors import NotDelivered, UpstreamError
from tests.support.agents import Bench, Scripted, approval, outcome


def heard(run: Run) -> list[Any]:
    """The texts that are new to the agent."""
    return [message.content for message in run.new_messages]


async def test_messages_of_runs_that_reached_nobody_come_again_until_one_does() -> None:
    agent = Scripted([NotDelivered("refused")], [NotDelivered("refused")], ["Here."])
    bench = Bench(agent)
    for text in ("one", "two", "three", "four"):
        await bench.say(text)
    assert [heard(run) for run in agent.runs] == [
        ["one"],
        ["one", "two"],
        ["one", "two", "three"],
        ["four"],
    ]
    assert [text for role, text in await bench.texts() if role == "user"] == [
        "one", "two", "three", "four",
    ]  # fmt: skip


@pytest.mark.parametrize("script", [[UpstreamError("broke")], ["so far", NotDelivered("late")]])
async def test_what_may_have_been_heard_does_not_come_twice(script: list[str]) -> None:
    agent = Scripted(script, ["Here."])
    bench = Bench(agent)
    await bench.say("one")
    await bench.say("two")
    assert heard(agent.runs[1]) == ["two"]


async def test_a_message_that_came_with_an_undelivered_answer_comes_with_the_next() -> None:
    agent = Scripted([Pause([approval()])], [NotDelivered("refused")], ["Done."])
    bench = Bench(agent)
    asked = await bench.ask()
    await bench.say("and hurry", resume=bench.entries(asked))
    assert outcome(await bench.say(resume=bench.entries(asked))) == "success"
    told = [run.resume.new_messages for run in agent.runs[1:] if run.resume is not None]
    assert [[message.content for message in messages] for messages in told] == [
        ["and hurry"],
        ["and hurry"],
    ]


async def test_a_message_that_its_author_took_back_does_not_come() -> None:
    agent = Scripted(["Hello."], [NotDelivered("refused")], ["Here."])
    bench = Bench(agent)
    await bench.say("hi")
    before = [stored.message for stored in (await bench.load()).messages]
    await bench.say("delete it")
    edited = {"id": "edited", "role": "user", "content": "keep it"}
    await bench.say(messages=[*before, edited])
    assert heard(agent.runs[2]) == ["keep it"]


async def test_a_message_that_came_with_a_vote_is_kept_and_comes_with_the_last_one() -> None:
    asking = Pause([approval(quorum=2)])
    agent = Scripted([asking], [Pause([approval("c2")])])
    bench = Bench(agent)
    asked = await bench.ask()
    voted = await bench.say("and hurry", resume=bench.entries(asked), actor="bob")
    assert outcome(voted) == "interrupt"
    (shown,) = [e["messages"] for e in voted if e["type"] == "MESSAGES_SNAPSHOT"]
    assert [m["content"] for m in shown if m["role"] == "user"] == ["go", "and hurry"]
    assert (await bench.load()).messages[-1].message["content"] == "and hurry"

    again = await bench.say("and hurry", resume=bench.entries(asked), actor="bob")
    assert outcome(again) == "interrupt"
    next_ask = await bench.say(resume=bench.entries(asked), actor="cy")
    resume = agent.runs[1].resume
    assert resume is not None
    assert [message.content for message in resume.new_messages] == ["and hurry"]

    # Whoever said something has asked for what comes of it.
    (question,) = next_ask[-1]["outcome"]["interrupts"]
    stored = (await bench.load(question["id"])).interrupts[question["id"]]
    assert (stored.asked_by, stored.joined_by) == ("ann", ("bob",))


async def test_what_came_with_a_vote_does_not_keep_a_message_from_answering() -> None:
    schema = {"type": "object", "properties": {"confirmed": {"type": "boolean"}}}
    question = Ask("n", "confirmation", "Go on?", response_schema=schema, quorum=2)
    agent = Scripted([Pause([question])], ["Done."])
    bench = Bench(agent, auto_resume="on")
    asked = await bench.ask()
    entries = bench.entries(asked, {"confirmed": True})
    assert outcome(await bench.say("and hurry", resume=entries, actor="bob")) == "interrupt"
    before = [stored.message for stored in (await bench.load()).messages]
    yes = {"id": "yes", "role": "user", "content": "yes"}
    assert outcome(await bench.say(messages=[*before, yes], actor="cy")) == "success"
    resume = agent.runs[1].resume
    assert resume is not None
    assert [message.content for message in resume.new_messages] == ["and hurry"]
