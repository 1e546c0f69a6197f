"""What workflows tell, ask and end with, on Temporal's own server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, WorkflowUpdateFailedError
from temporalio.service import RPCError

from agui_bridge import Bridge
from agui_bridge.errors import ConfigurationError
from agui_bridge_temporal import TemporalWorkflow
from tests.adapters.temporal.bench import Bench
from tests.adapters.temporal.talk import Talk, talking
from tests.docs.pages import Conversation
from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(120)


async def test_what_it_tells_and_results_in_is_told(shared: Bench) -> None:
    async with talking(shared, "tells") as talk:
        assert await talk.say("hello v9") == "Hello."
    (shown,) = [e for e in talk.events if e["type"] == "ACTIVITY_SNAPSHOT"]
    assert (shown["activityType"], shown["content"]) == ("progress", {"text": "greeting"})
    assert talk.events[-1]["result"] == {"greeted": "v9"}


async def test_a_workflow_that_knows_nothing_of_bridges_is_started_and_its_result_told(
    shared: Bench,
) -> None:
    async with talking(shared, "plain", workflow="PlainWorkflow") as talk:
        assert await talk.say("it") == ""
        assert talk.events[-1]["result"] == "it is done"


async def test_its_input_is_what_the_application_makes_of_the_run(shared: Bench) -> None:
    given: dict[str, Any] = {
        "workflow": "PlainWorkflow",
        "input": lambda run: {"message": run.text.upper()},
    }
    async with talking(shared, "input", **given) as talk:
        await talk.say("it")
        assert talk.events[-1]["result"] == "IT is done"


async def test_one_that_fails_is_told_as_that_without_its_words(shared: Bench) -> None:
    async with talking(shared, "fails") as talk:
        assert await talk.say("fail") == "I try. "
        assert talk.failure == ("UPSTREAM_ERROR", "The workflow failed.")
        assert "secret" not in str(talk.events)
        assert await talk.say("hello") == "Hello.", "the next message starts another one"


async def test_one_that_takes_too_long_is_told_as_that(shared: Bench) -> None:
    async with talking(shared, "limit", execution_timeout=1.0) as talk:
        await talk.say("limit")
        assert talk.failure == (
            "UPSTREAM_ERROR",
            "The workflow took longer than it may, and Temporal has ended it.",
        )


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        ("cancel", "The workflow was cancelled at Temporal."),
        ("terminate", "The workflow was terminated at Temporal."),
    ],
)
async def test_one_that_is_ended_at_temporal_is_told_as_that(
    shared: Bench, ends: str, told: str
) -> None:
    before = len(shared.effects)
    async with talking(shared, ends) as talk:
        await talk.say("deploy")
        workflow = await talk.workflow()
        await getattr(workflow, ends)()
        await eventually(lambda: _has_ended(talk))
        await talk.answer({"approved": True})
        assert talk.failure[0] == "INTERRUPT_EXPIRED"
        await talk.say("hello")
        assert told in str(talk.events)
    assert shared.effects[before:] == []


async def _has_ended(talk: Talk) -> bool:
    return await talk.status() != "RUNNING"


async def test_what_was_decided_elsewhere_counts_and_what_was_not_is_asked_again(
    shared: Bench,
) -> None:
    before = len(shared.effects)
    async with talking(shared, "elsewhere") as talk:
        await talk.say("both")
        workflow = await talk.workflow()
        no = {"q1": {"status": "declined"}}
        assert await workflow.execute_update("agui_bridge_answer", no) == no
        with pytest.raises(WorkflowUpdateFailedError):
            await workflow.execute_update("agui_bridge_answer", {"q1": {"status": "approved"}})
        await talk.answer({"approved": True}, {"approved": True})
        assert talk.failure[0] == "INTERRUPT_EXPIRED"
        assert shared.effects[before:] == []
        await eventually(talk.asked)
        await talk.decide({"approved": True})
        assert shared.effects[before:] == [{"version": "v2-b"}]


async def test_the_same_update_is_taken_once_and_says_what_stands(shared: Bench) -> None:
    before = len(shared.effects)
    async with talking(shared, "same") as talk:
        await talk.say("deploy")
        workflow = await talk.workflow()
        # As one whose fate the bridge has not heard of: admitted by Temporal, and not told.
        yes = {"q1": {"status": "approved", "args": {"version": "v7"}}}
        for _ in range(2):
            stands = await workflow.execute_update("agui_bridge_answer", yes, id="answer q1")
            assert stands == yes
        other = {"q1": {"status": "declined"}}
        assert await workflow.execute_update("agui_bridge_answer", other, id="answer q1") == yes
        await workflow.result()
        assert shared.effects[before:] == [{"version": "v7"}]


async def test_a_stop_cancels_the_workflow(shared: Bench) -> None:
    before = len(shared.effects)
    bridge = Bridge("memory:", telemetry=False)
    bridge.add("agent", shared.adapter())
    talk = Talk(bridge, shared, "stops")
    try:
        saying = asyncio.create_task(talk.say("slow"))
        await eventually(lambda: _runs(talk))
        await bridge.stop("agent", "stops")
        await saying
        await eventually(lambda: _has_ended(talk))
        assert await talk.status() == "CANCELED"
        await talk.say("deploy")
        await bridge.stop("agent", "stops")
        assert await talk.status() == "RUNNING", "nobody runs who could tell it"
        assert await talk.say("hello") == "Hello."
    finally:
        await bridge.aclose()
    assert shared.effects[before:] == []


async def _runs(talk: Talk) -> bool:
    try:
        return await talk.status() == "RUNNING"
    except RPCError:
        return False


async def test_a_message_amid_its_work_is_refused_and_the_work_goes_on(shared: Bench) -> None:
    before = len(shared.effects)
    async with talking(shared, "amid", patience=0.3) as talk:
        assert "goes on" in await talk.say("later v8")
        await talk.say("hello")
        assert talk.failure[0] == "UPSTREAM_ERROR"
        await eventually(talk.asked)
        await talk.decide({"approved": True})
        assert shared.effects[before:] == [{"version": "v8"}]


async def test_a_workflow_may_wait_for_the_next_message(shared: Bench) -> None:
    async with talking(shared, "chats") as talk:
        assert await talk.say("chat") == "What is it?"
        assert await talk.say("tea") == "You said tea. "
        assert await talk.say("cake") == "You said cake. "
        assert await talk.say("bye") == ""
        assert talk.events[-1]["result"] == "bye"
        assert await talk.say("hello") == "Hello.", "the next one starts another"


async def test_one_that_waits_where_an_answer_is_asked_anew_is_cancelled(shared: Bench) -> None:
    async with talking(shared, "anew") as talk:
        await talk.say("chat")
        first = (await (await talk.workflow()).describe()).run_id
        again = [{"id": "u1", "role": "user", "content": "chat"}]
        assert await talk.send(messages=again) == "What is it?"
        client = await Client.connect(shared.server.address)
        handle = client.get_workflow_handle((await talk.workflow()).id, run_id=first)
        found = (await handle.describe()).status
        assert found is not None and found.name == "CANCELED"


async def test_one_that_continues_as_new_is_heard_from_there(shared: Bench) -> None:
    before = len(shared.effects)
    async with talking(shared, "again") as talk:
        await talk.say("again")
        assert talk.asks, "what the last run asks is asked"
        await talk.answer({"approved": True})
        assert talk.events[-1]["outcome"]["type"] == "success"
    assert shared.effects[before:] == [{"version": "last"}]


async def test_a_question_that_has_expired_is_told_to_be_that(shared: Bench) -> None:
    before = len(shared.effects)
    async with talking(shared, "expires") as talk:
        await talk.say("brief")
        (ask,) = talk.asks
        assert ask["expiresAt"]
        await eventually(lambda: _has_ended(talk))
        await talk.answer({"approved": True})
        assert talk.failure[0] == "INTERRUPT_EXPIRED"
    assert shared.effects[before:] == []


async def test_nothing_of_the_credentials_is_in_what_temporal_keeps(shared: Bench) -> None:
    async with talking(shared, "keys", api_key="sk-secret", tls=False) as talk:
        await talk.say("deploy")
        history = await (await talk.workflow()).fetch_history()
        assert "sk-secret" not in history.to_json()
        assert "sk-secret" not in str(talk.events)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"timeout": 0}, "above 0"),
        ({"tls": {"cert": "x"}}, "cert"),
        ({"input": 3}, "function"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        TemporalWorkflow("W", task_queue="q", **options)


async def test_a_certificate_that_is_not_there_is_told_by_its_path(tmp_path: Path) -> None:
    named = {"client_cert": str(tmp_path / "none.pem")}
    bridge = Bridge("memory:", telemetry=False)
    bridge.add("agent", TemporalWorkflow("W", task_queue="q", tls=named))
    talk = Conversation(bridge, "agent")
    try:
        await talk.say("hello")
    finally:
        await bridge.aclose()
    assert talk.events[-1]["type"] == "RUN_ERROR"
