"""What a user said to an agent that could not be reached is brought to it with what comes next."""

from typing import Any

import pytest

from agui_bridge.adapters import Pause, Run
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
