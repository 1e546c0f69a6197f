"""What is heard of a workflow where its query fails, it has moved on, or its result is odd."""

from __future__ import annotations

import logging

import pytest
from temporalio.client import Client

from agui_bridge.errors import ConfigurationError
from agui_bridge_temporal import TemporalWorkflow
from tests.adapters.temporal.bench import Bench
from tests.adapters.temporal.talk import Before, Talk, talking
from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(120)


async def test_a_message_that_meets_a_new_question_is_told_not_to_be_given(shared: Bench) -> None:
    before = len(shared.effects)
    async with talking(shared, "meets", sweep=60.0, patience=0.3) as talk:
        await talk.say("later v5")
        await eventually(lambda: _asks(talk))
        told = await talk.say("and cancel Bob's order")
        assert "Your message was not given to the workflow" in told
        await talk.answer({"approved": True})
        assert shared.effects[before:] == [{"version": "v5"}]


async def _asks(talk: Talk) -> bool:
    return bool((await talk.told())["open"])


async def test_more_than_one_query_can_give_is_told_in_pages(shared: Bench) -> None:
    async with talking(shared, "lots") as talk:
        told = await talk.say("lots")
        assert len(told) == 150 * 20_003
        assert [told[at : at + 3] for at in range(0, len(told), 20_003)] == [
            f"{number:03}" for number in range(150)
        ]
        assert talk.asks


async def test_one_whose_query_fails_is_told_as_that(
    shared: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    async with talking(shared, "query", sweep=60.0) as talk:
        with caplog.at_level(logging.WARNING, "agui_bridge"):
            await talk.say("huge stays")
        assert talk.failure == (
            "UPSTREAM_ERROR",
            "The workflow can't say what it tells: its query has failed.",
        )
        assert "A query of workflow" in caplog.text


async def test_one_that_has_ended_and_whose_query_fails_has_a_result(shared: Bench) -> None:
    async with talking(shared, "ended") as talk:
        assert await talk.say("huge") == "What the workflow told last can't be had. "
        assert talk.events[-1]["result"] == "its end"
        assert await talk.say("hello") == "Hello."


async def test_a_result_of_a_type_that_is_not_known_here_is_not_told(
    shared: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    async with talking(shared, "odd") as talk:
        with caplog.at_level(logging.WARNING, "agui_bridge"):
            assert await talk.say("odd") == "Hello."
        assert talk.events[-1]["outcome"]["type"] == "success"
        assert talk.events[-1].get("result") is None
        assert "is no JSON" in caplog.text


async def test_a_message_is_given_to_the_run_that_listens_now(shared: Bench) -> None:
    async with talking(shared, "moves", sweep=60.0) as talk:
        await talk.say("moves")
        before = (await talk.told())["run"]
        await eventually(lambda: _has_moved(talk, before))
        assert await talk.say("tea") == "What is it?You said tea. "
        assert await talk.say("bye") == ""
        assert talk.events[-1]["result"] == "bye"


async def _has_moved(talk: Talk, before: str) -> bool:
    told = await talk.told()
    return bool(told["run"] != before and told["listens"])


async def test_a_message_to_a_run_that_ends_at_that_moment_can_be_sent_again(
    shared: Bench,
) -> None:
    before = Before()
    client = await Client.connect(shared.server.address, interceptors=[before])
    async with talking(shared, "races", client=client, sweep=60.0) as talk:
        await talk.say("moves")
        run = (await talk.told())["run"]
        before.happens = lambda: eventually(lambda: _has_moved(talk, run))
        await talk.say("tea")
        assert talk.failure == (
            "UPSTREAM_ERROR",
            "The workflow was not given this message. Send it again.",
        )
        assert await talk.say("cake") == "What is it?You said cake. "


async def test_the_ids_of_its_workflows_begin_as_it_is_told(shared: Bench) -> None:
    async with talking(shared, "prefix") as one, talking(shared, "prefix", prefix="b") as other:
        await one.say("deploy")
        handle = await one.workflow()
        await other.say("hello")
        client = await Client.connect(shared.server.address)
        found = client.get_workflow_handle(f"b{handle.id.removeprefix('agui')}")
        assert await found.result() == {"greeted": "v2"}
        await one.answer({"approved": False})
        assert await handle.result() == "declined"


def test_a_prefix_is_not_empty() -> None:
    with pytest.raises(ConfigurationError, match="prefix"):
        TemporalWorkflow("W", task_queue="q", prefix="")
