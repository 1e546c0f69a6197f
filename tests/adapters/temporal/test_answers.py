"""Answers: which question each is for, which one stands, and what is sent where one was late."""

from __future__ import annotations

import json
from typing import Any

import pytest
from temporalio import workflow
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.client import (
    Client,
    WorkflowUpdateFailedError,
)
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from agui_bridge_temporal.told import same
from agui_bridge_temporal.workflow import ConversationWorkflow
from tests.adapters.temporal.bench import Bench
from tests.adapters.temporal.talk import Before, Talk, talking
from tests.adapters.temporal.workflows import do
from tests.support.waiting import eventually

pytestmark = pytest.mark.timeout(120)

YES = {"approved": True}


async def reset(talk: Talk) -> None:
    """As an operator does it who has mended the code: to the end of the first workflow task."""
    handle = await talk.workflow()
    run = (await handle.describe()).run_id
    client = await Client.connect(talk.address)
    await client.workflow_service.reset_workflow_execution(
        ResetWorkflowExecutionRequest(
            namespace="default",
            workflow_execution=WorkflowExecution(workflow_id=handle.id, run_id=run),
            workflow_task_finish_event_id=4,
            reason="the code was mended",
            request_id=run,
        )
    )


async def asks(talk: Talk, tool: str) -> bool:
    return [one.get("tool") for one in (await talk.told())["open"]] == [tool]


async def test_after_a_reset_an_approval_serves_no_other_call(shared: Bench) -> None:
    before = len(shared.effects)
    mended = shared.effects_file.with_name("mended")
    async with talking(shared, "reset") as talk:
        await talk.say("changed mended")
        await talk.answer(YES)
        assert shared.effects[before:] == [{"what": "mended"}]
        mended.touch()
        await reset(talk)
        await eventually(lambda: asks(talk, "delete"))
        events = [each async for each in (await talk.workflow()).fetch_history_events()]
        kinds = [each.WhichOneof("attributes") for each in events]
        assert "workflow_execution_update_admitted_event_attributes" in kinds, "given again"
        assert shared.effects[before:] == [{"what": "mended"}]
        # What is asked now has the id and the args of what was asked before.
        await talk.answer(YES)
        assert talk.failure[0] == "INTERRUPT_EXPIRED"
        await eventually(talk.asked)
        assert shared.effects[before:] == [{"what": "mended"}]
        await talk.decide(YES)
        assert shared.effects[before:] == [{"what": "mended"}] * 2


async def test_an_answer_is_for_what_was_shown_alone(shared: Bench) -> None:
    async with talking(shared, "shown") as talk:
        await talk.say("deploy v3")
        handle = await talk.workflow()
        answer: dict[str, Any] = {"status": "approved", "args": {"version": "v3"}}
        for asked in (
            {"tool": "delete", "args": {"version": "v3"}},
            {"tool": "deploy", "args": {"version": "v4"}},
            {"message": "Deploy it?", "schema": None},
        ):
            with pytest.raises(WorkflowUpdateFailedError):
                await handle.execute_update(
                    "agui_bridge_answer", {"q1": {**answer, "asked": asked}}
                )
        await talk.answer(YES)
        assert talk.events[-1]["outcome"]["type"] == "success"


@workflow.defn(name="TargetWorkflow")
class Reworded(ConversationWorkflow):
    """The same workflow, later: its question has other words."""

    @workflow.run
    async def run(self, start: dict[str, Any]) -> None:
        decision = await self.ask("What size do you want?", {"enum": ["S", "M", "L"]})
        if decision.answered:
            await do(decision.payload)


async def test_a_replay_has_the_answer_though_later_code_words_its_question_anew(
    shared: Bench,
) -> None:
    async with talking(shared, "reworded") as talk:
        await talk.say("order it")
        await talk.answer({"size": "M"})
        history = await (await talk.workflow()).fetch_history()
    replayer = Replayer(workflows=[Reworded], workflow_runner=UnsandboxedWorkflowRunner())
    await replayer.replay_workflow(history)


async def test_an_approval_is_sent_though_another_question_of_its_pause_has_expired(
    shared: Bench,
) -> None:
    before = len(shared.effects)
    async with talking(shared, "late", sweep=60.0) as talk:
        await talk.say("mixed v3")
        second = talk.asks[1]["id"]
        await eventually(lambda: _is_over(talk, "q1"))
        entry = {"interruptId": second, "status": "resolved", "payload": YES}
        await talk.send(resume=[entry])
        assert talk.events[-1]["outcome"]["type"] == "success", talk.events
        assert shared.effects[before:] == [{"version": "v3-b"}]


async def _is_over(talk: Talk, question: str) -> bool:
    return question in (await talk.told())["decided"]


async def test_an_approval_is_sent_though_another_question_is_decided_at_that_moment(
    shared: Bench,
) -> None:
    effects = len(shared.effects)
    before = Before()
    client = await Client.connect(shared.server.address, interceptors=[before])
    async with talking(shared, "moment", client=client) as talk:
        await talk.say("both v3")
        handle = await talk.workflow()
        no = {"q1": {"status": "declined"}}
        before.happens = lambda: handle.execute_update("agui_bridge_answer", no)
        first, second = (ask["id"] for ask in talk.asks)
        await talk.send(
            resume=[
                {"interruptId": first, "status": "cancelled"},
                {"interruptId": second, "status": "resolved", "payload": YES},
            ]
        )
        assert talk.events[-1]["outcome"]["type"] == "success"
        assert shared.effects[effects:] == [{"version": "v3-b"}]


async def test_one_that_had_another_answer_says_so(shared: Bench) -> None:
    effects = len(shared.effects)
    before = Before()
    client = await Client.connect(shared.server.address, interceptors=[before])
    async with talking(shared, "other", client=client) as talk:
        await talk.say("twice")
        handle = await talk.workflow()
        no = {"q1": {"status": "declined"}}
        before.happens = lambda: handle.execute_update("agui_bridge_answer", no)
        await talk.answer(YES)
        assert talk.failure[0] == "INTERRUPT_EXPIRED"
        assert "another answer" in talk.failure[1]
        assert shared.effects[effects:] == []


async def _denied() -> None:
    raise RPCError("a secret of theirs", RPCStatusCode.PERMISSION_DENIED, b"")


async def test_an_answer_that_temporal_does_not_take_can_be_sent_again(shared: Bench) -> None:
    effects = len(shared.effects)
    before = Before()
    client = await Client.connect(shared.server.address, interceptors=[before])
    async with talking(shared, "denied", client=client, sweep=60.0) as talk:
        await talk.say("deploy")
        before.happens = _denied
        asked = list(talk.asks)
        await talk.answer(YES)
        assert talk.failure[0] == "UPSTREAM_ERROR"
        assert "PERMISSION_DENIED" in talk.failure[1] and "secret" not in talk.failure[1]
        assert await talk.asked() == [ask["id"] for ask in asked]
        assert shared.effects[effects:] == []
        await talk.decide(YES)
        assert shared.effects[effects:] == [{"version": "v2"}]


@pytest.mark.parametrize(
    ("stands", "is_it"),
    [
        ({"q1": {"status": "declined"}}, True),
        ({"q1": {"status": "declined", "reason": None, "actor": None}}, True),
        ({"q1": {"status": "approved"}}, False),
        ({"q1": {"status": "declined", "reason": "no"}}, False),
        ({}, False),
        (None, False),
    ],
)
def test_which_answers_stand_is_told_with_nulls_or_without(stands: Any, is_it: bool) -> None:
    sent = {"q1": {"status": "declined", "reason": None, "actor": None, "asked": {"tool": "x"}}}
    assert same(json.loads(json.dumps(stands)), sent) is is_it
