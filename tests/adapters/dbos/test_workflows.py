"""What becomes of a workflow is told as what it is, and nothing of it is done unasked."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import psycopg
import pytest
from dbos import DBOSClient, WorkflowStatus

from agui_bridge import Bridge
from agui_bridge.errors import ConfigurationError
from agui_bridge.testing import Talk, talk
from agui_bridge_dbos import DBOSWorkflow
from agui_bridge_dbos.workflows import Elsewhere
from tests.adapters.dbos import flows
from tests.adapters.dbos.bench import POSTGRES, Place
from tests.adapters.dbos.worker import QUEUE

YES: Final = {"approved": True}


@contextlib.asynccontextmanager
async def talking(place: Place, name: str = "target", **options: Any) -> AsyncIterator[Talk]:
    """A thread with workflows of the shared worker."""
    bridge = Bridge(telemetry=False)
    bridge.add("flows", place.adapter(name, **options))
    async with talk(bridge, "flows", patience=20.0) as begun:
        yield begun


async def newest(place: Place) -> WorkflowStatus:
    """The workflow that was begun last."""
    client = DBOSClient(system_database_url=place.database, dbos_system_schema=place.schema)
    try:
        (found,) = await client.list_workflows_async(sort_desc=True, limit=1)
        return found
    finally:
        await asyncio.to_thread(client.destroy)


async def cancel(place: Place, workflow: str) -> None:
    """Cancel a workflow as an operator does."""
    client = DBOSClient(system_database_url=place.database, dbos_system_schema=place.schema)
    await client.cancel_workflow_async(workflow)
    await asyncio.to_thread(client.destroy)


async def test_what_a_workflow_tells_and_gives_reaches_the_page(shared: Place) -> None:
    async with talking(shared) as flow:
        told = await flow.say("count")
        assert await flow.state() == {"counted": 3}
    assert told.events[-1]["result"] == {"counted": 3}


async def test_a_workflow_in_a_thread_asks_and_is_told_declines_and_answers(shared: Place) -> None:
    async with talking(shared, "plain") as flow:
        asked = await flow.say("v7")
        assert asked.asks[0]["reason"] == "tool_call"
        again = await flow.answer(asked, {"approved": False, "reason": "no"})
        assert again.asks[0]["message"] == "Which colour?"
        assert (await flow.answer(again, "red")).text == "declined red"


async def test_of_two_executions_that_wait_for_an_answer_the_one_that_has_the_workflow_acts(
    shared: Place,
) -> None:
    # The worker lives, and takes the workflow from itself: both its executions hear the message.
    before = len(shared.effects)
    async with talking(shared) as flow:
        for number in range(6):
            await flow.answer(await flow.say(f"deploy v{number}"), YES)
    assert shared.effects[before:] == [{"version": f"v{number}"} for number in range(6)]


async def test_that_one_failed_is_told_and_not_why(shared: Place) -> None:
    async with talking(shared) as flow:
        told = await flow.say("fail")
    assert (told.ending, told.fault) == ("UPSTREAM_ERROR", "The workflow failed.")
    assert "secret" not in str(told.events)


async def test_one_that_others_cancelled_is_given_no_answer_and_stays_cancelled(
    shared: Place,
) -> None:
    before = len(shared.effects)
    async with talking(shared) as flow:
        asked = await flow.say("deploy")
        begun = await newest(shared)
        await cancel(shared, begun.workflow_id)
        told = await flow.answer(asked, YES)
    assert told.ending == "INTERRUPT_EXPIRED"
    assert "The workflow was cancelled." in told.fault
    assert (await newest(shared)).status == "CANCELLED"
    assert shared.effects[before:] == []


async def test_one_that_is_cancelled_while_an_answer_is_under_way_is_not_given_back(
    shared: Place,
) -> None:
    async with talking(shared) as flow:
        await flow.say("deploy")
        seen = await newest(shared)
        await cancel(shared, seen.workflow_id)
        workflows = Elsewhere("target", shared.database, QUEUE, shared.schema)
        await workflows.give_back(seen)
        await workflows.aclose()
    assert (await newest(shared)).status == "CANCELLED"


async def test_one_that_dbos_gave_up_is_told_as_that(shared: Place) -> None:
    async with talking(shared) as flow:
        asked = await flow.say("deploy")
        begun = await newest(shared)
        with psycopg.connect(POSTGRES, autocommit=True) as connection:
            statement = (
                f'UPDATE "{shared.schema}".workflow_status SET owner_xid = NULL, '
                "status = 'MAX_RECOVERY_ATTEMPTS_EXCEEDED' WHERE workflow_uuid = %s"
            )
            connection.execute(statement.encode(), [begun.workflow_id])
        refused = await flow.answer(asked, YES)
        assert refused.events[-1]["code"] == "INTERRUPT_EXPIRED"
        told = await flow.say("hello")
    assert "DBOS begins it no more" in str(told.events) or "Hello." in told.text


async def test_a_stop_cancels_the_workflow_at_work_and_the_one_that_asks(shared: Place) -> None:
    async with talking(shared) as flow:
        stream = flow.begin("slow")
        await stream.until("TEXT_MESSAGE_CONTENT")
        await flow.stop()
        await stream.rest()
        assert (await newest(shared)).status == "CANCELLED"
        await flow.say("deploy")
        asking = (await newest(shared)).workflow_id
        await flow.stop()
        assert (await flow.say("hello")).text == "Hello."
        client = DBOSClient(system_database_url=shared.database, dbos_system_schema=shared.schema)
        (found,) = await client.list_workflows_async(workflow_ids=[asking])
        await asyncio.to_thread(client.destroy)
    assert found.status == "CANCELLED"


async def test_a_message_to_a_workflow_at_work_is_refused_and_said_so(shared: Place) -> None:
    async with talking(shared, patience=1.0) as flow:
        told = await flow.say("silent")
        assert "will be told here" in told.text
        refused = await flow.say("hello")
        await flow.stop()
    assert refused.ending == "UPSTREAM_ERROR"
    assert "still at work" in refused.fault


async def test_a_workflow_whose_question_expired_is_told_so_and_ends_before_the_next_begins(
    shared: Place,
) -> None:
    before = len(shared.effects)
    async with talking(shared) as flow:
        await flow.say("brief")
        await asyncio.sleep(2.2)
        assert (await flow.say("hello")).text == "Done.Hello."
    assert shared.effects[before:] == []


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: DBOSWorkflow(flows.Order), "@DBOS.workflow"),
        (lambda: DBOSWorkflow("target", database="sqlite:///x"), "belong together"),
        (lambda: DBOSWorkflow(flows.target, database="sqlite:///x", queue="q"), "the name"),
        (lambda: DBOSWorkflow(flows.target, patience=0), "patience"),
        (lambda: DBOSWorkflow(flows.target, start="json:__name__"), "start"),
    ],
)
def test_an_option_without_sense_is_told_where_it_is_given(
    make: Callable[[], DBOSWorkflow], says: str
) -> None:
    with pytest.raises(ConfigurationError, match=says):
        make()


async def test_a_process_that_did_not_launch_dbos_is_told_to(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bridge = Bridge(telemetry=False)
    bridge.add("flows", DBOSWorkflow("tests.adapters.dbos.flows:target"))
    async with talk(bridge, "flows") as flow:
        told = await flow.say("hello")
    assert told.ending == "AGENT_ERROR"
    assert "call DBOS.launch() before the bridge serves" in caplog.text
