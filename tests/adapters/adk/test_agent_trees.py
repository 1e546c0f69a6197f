"""Agents below agents: one after the other, at once, in a loop, and those that take over."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LoopAgent, ParallelAgent, SequentialAgent

from agui_bridge.testing import talk
from tests.adapters.adk.mailer import Mailer
from tests.adapters.adk.talking import YES, conversing, names_of, serving, talking

pytestmark = [
    pytest.mark.anyio,
    # ADK wants workflows instead, which no agent can have below it yet.
    pytest.mark.filterwarnings("ignore:.*Agent is deprecated in favor of Workflow"),
]

MAIL = {"to": "bob", "body": "original"}


def in_sequence(done: Any = None) -> tuple[Mailer, SequentialAgent]:
    mailer = Mailer(done)
    parts = [mailer.make("one"), mailer.make("two")]
    return mailer, SequentialAgent(name="both", sub_agents=parts)


def at_once(done: Any = None) -> tuple[Mailer, ParallelAgent]:
    mailer = Mailer(done)
    parts = [mailer.make("one"), mailer.make("two")]
    return mailer, ParallelAgent(name="both", sub_agents=parts)


async def test_the_second_agent_of_a_sequence_begins_once_the_first_ones_call_is_answered(
    tmp_path: Path,
) -> None:
    store, done = f"sqlite:///{tmp_path}/agents.db", list[Any]()
    async with talk(serving(in_sequence(done.append)[1]), "mailer", store=store) as one:
        first = await one.say("mixed bob")
        assert names_of(first.events, "STEP_STARTED", "stepName") == ["one"]
    async with talk(serving(in_sequence(done.append)[1]), "mailer", store=store) as one:
        second = await one.answer(first, YES)
        assert second.ending == "interrupt"
        assert names_of(second.events, "STEP_STARTED", "stepName") == ["one", "two"]
    async with talk(serving(in_sequence(done.append)[1]), "mailer", store=store) as one:
        assert (await one.answer(second, YES)).ending == "success"
        await one.answer(first, YES)
    assert done == ["looked up bob", MAIL, "looked up bob", MAIL]


async def test_agents_at_once_ask_in_one_pause_and_each_has_its_own_answer() -> None:
    mailer, agent = at_once()
    async with talking(agent) as one:
        asked = await one.say("send bob")
        ended = await one.answer(asked, YES, {"approved": False, "reason": "once is enough"})
        assert ended.ending == "success"
        results = names_of(ended.events, "TOOL_CALL_RESULT", "content")
        assert sorted(text.split(" ")[0] for text in results) == ["The", "sent"]
        assert (await one.say("hello")).text == "Hello.Hello."
    assert mailer.done == [MAIL]
    assert "once is enough" in mailer.told() or "once is enough" in mailer.told(-2)


async def test_agents_at_once_go_on_each_with_its_next_question() -> None:
    mailer, agent = at_once()
    async with talking(agent) as one:
        first = await one.say("twice bob")
        second = await one.answer(first, YES, YES)
        assert len(second.asks) == 2
        assert (await one.answer(second, YES, YES)).ending == "success"
    assert sorted(mail["to"] for mail in mailer.done) == ["bob", "bob", "second-bob", "second-bob"]


async def test_their_words_are_messages_of_their_own_though_they_come_at_once() -> None:
    _, agent = at_once()
    async with talking(agent) as one:
        stream = await one.say("think trees")
        texts = dict[str, str]()
        for event in stream.events:
            if event["type"] == "TEXT_MESSAGE_CONTENT":
                own = event["messageId"]
                texts[own] = texts.get(own, "") + event["delta"]
    assert list(texts.values()) == ["I thought of trees."] * 2


async def test_an_agent_in_a_loop_asks_each_time() -> None:
    mailer = Mailer()
    loop = LoopAgent(name="again", max_iterations=3, sub_agents=[mailer.make("one")])
    async with talking(loop) as one:
        asked = await one.say("every bob")
        for _ in range(2):
            asked = await one.answer(asked, YES)
            assert asked.ending == "interrupt"
        assert (await one.answer(asked, YES)).ending == "success"
    assert [mail["to"] for mail in mailer.done] == ["bob"] * 3


async def test_who_took_over_has_the_next_message_also_in_another_process(tmp_path: Path) -> None:
    store, done = f"sqlite:///{tmp_path}/agents.db", list[Any]()
    async with talk(serving(Mailer(done.append).agent), "mailer", store=store) as one:
        asked = await one.say("handoff bob")
        assert names_of(asked.events, "STEP_STARTED", "stepName") == ["sales"]
    async with talk(serving(Mailer(done.append).agent), "mailer", store=store) as one:
        assert (await one.answer(asked, YES)).ending == "success"
    mailer = Mailer(done.append)
    async with talk(serving(mailer.agent), "mailer", store=store) as one:
        await one.say("hello")
    assert mailer.speakers[-1] == "sales"
    assert done == [MAIL]


async def test_who_took_over_has_the_next_message_also_after_a_stop() -> None:
    mailer = Mailer()
    async with talking(mailer.agent) as one:
        stream = one.begin("handoffwait")
        await asyncio.wait_for(mailer.begun.wait(), 10)
        await one.stop(force=True)
        assert (await stream.rest()).ending == "cancelled"
        await one.say("hello")
    assert mailer.speakers[-1] == "sales"


async def test_an_answer_that_is_asked_anew_comes_from_the_first_agent_again() -> None:
    mailer = Mailer()
    first = {"id": "u1", "role": "user", "content": "handofflook bob"}
    async with conversing(serving(mailer.agent)) as one:
        await one._send(messages=[first])
        assert mailer.speakers == ["mailer", "sales", "sales"]
        newest = [e["messageId"] for e in one.events if e["type"] == "TEXT_MESSAGE_START"][-1]
        sign = {"agui_bridge": {"newest": newest}}
        await one._send(messages=[first], forwardedProps=sign)
    assert mailer.speakers[3:] == ["mailer", "sales", "sales"]


async def test_two_threads_at_once_share_an_agent_and_nothing_else() -> None:
    mailer = Mailer()
    bridge = serving(mailer.agent)
    async with talk(bridge, "mailer", thread="a") as one:
        other = type(one)(bridge, one._engine, "mailer", "b", 10.0, one._principal)
        first, second = await asyncio.gather(one.say("send ann"), other.say("send bob"))
        await asyncio.gather(one.answer(first, YES), other.answer(second, YES))
    assert sorted(mail["to"] for mail in mailer.done) == ["ann", "bob"]
