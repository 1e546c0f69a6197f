"""What becomes of a workflow is told as what it is, and nothing of it is done unasked."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Final

import psycopg
import pytest
from dbos import DBOSClient, WorkflowStatus

from agui_bridge import Bridge, Settings
from agui_bridge.errors import ConfigurationError
from agui_bridge.testing import Talk, talk
from agui_bridge_dbos import DBOSWorkflow
from agui_bridge_dbos.telling import STREAM
from agui_bridge_dbos.workflows import Elsewhere
from tests.adapters.dbos import flows
from tests.adapters.dbos.bench import POSTGRES, Place
from tests.adapters.dbos.worker import QUEUE
from tests.support.waiting import PATIENCE

YES: Final = {"approved": True}


@contextlib.asynccontextmanager
async def talking(
    place: Place, name: str = "target", *, expires_in: float | None = None, **options: Any
) -> AsyncIterator[Talk]:
    """A thread with workflows of the shared worker; nobody looks after what a run has left."""
    bridge = Bridge(settings=Settings(sweep_interval=0, expires_in=expires_in), telemetry=False)
    bridge.add("flows", place.adapter(name, **options))
    async with talk(bridge, "flows", patience=20.0) as begun:
        yield begun


@contextlib.asynccontextmanager
async def client_of(place: Place) -> AsyncIterator[DBOSClient]:
    """What an operator has."""
    client = DBOSClient(system_database_url=place.database, dbos_system_schema=place.schema)
    try:
        yield client
    finally:
        await asyncio.to_thread(client.destroy)


async def newest(place: Place) -> WorkflowStatus:
    """The workflow that was begun last."""
    async with client_of(place) as client:
        (found,) = await client.list_workflows_async(sort_desc=True, limit=1)
        return found


async def status(place: Place, workflow: str) -> str:
    """How a workflow stands."""
    async with client_of(place) as client:
        (found,) = await client.list_workflows_async(workflow_ids=[workflow])
        return found.status


async def cancel(place: Place, workflow: str) -> None:
    """Cancel a workflow as an operator does."""
    async with client_of(place) as client:
        await client.cancel_workflow_async(workflow)


async def until_told(place: Place, kind: str) -> None:
    """Wait until the newest workflow has told something of a kind."""
    workflow = (await newest(place)).workflow_id
    async with client_of(place) as client:
        items = client.read_stream_async(workflow, STREAM, timeout_seconds=PATIENCE)
        async with contextlib.aclosing(items):
            async for item in items:
                if item["kind"] == kind:
                    return
    raise AssertionError(f"it ended, and told no {kind}")


def results(events: Sequence[Mapping[str, Any]]) -> list[str]:
    """What came of calls."""
    return [e["content"] for e in events if e["type"] == "TOOL_CALL_RESULT"]


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
    assert await status(shared, asking) == "CANCELLED"


@pytest.mark.parametrize("edits", [False, True])
async def test_one_that_works_when_it_is_stopped_is_cancelled_at_the_next_message_or_edit(
    shared: Place, edits: bool
) -> None:
    async with talking(shared, patience=0.5) as flow:
        await flow.say("silent")
        silent = (await newest(shared)).workflow_id
        await flow.stop()
        if edits:
            said = [{"id": "edited", "role": "user", "content": "hello"}]
            again = await flow.send(said, newest=(await flow.messages())[-1]["id"])
        else:
            again = await flow.say("hello")
        assert again.ending == "success"
    assert await status(shared, silent) == "CANCELLED"


async def test_nothing_begins_before_one_that_was_stopped_is_cancelled(shared: Place) -> None:
    async with talking(shared, patience=0.5, timeout=2.0) as flow:
        await flow.say("silent")
        silent = (await newest(shared)).workflow_id
        await flow.stop()
        with psycopg.connect(POSTGRES) as connection:
            of_it = f'"{shared.schema}".workflow_status WHERE workflow_uuid = %s FOR UPDATE'
            connection.execute(f"SELECT status FROM {of_it}".encode(), [silent])
            refused = await flow.say("hello")
            # It shall not be cancelled by what waited.
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))"
            )
        assert (refused.ending, refused.text) == ("UPSTREAM_ERROR", "")
        assert "could not be cancelled yet" in refused.fault
        assert await status(shared, silent) != "CANCELLED"
        assert (await flow.say("hello")).ending == "success"
    assert await status(shared, silent) == "CANCELLED"


async def test_what_is_told_beside_a_question_leaves_it_open(shared: Place) -> None:
    before = len(shared.effects)
    async with talking(shared) as flow:
        asked = await flow.say("remind v8")
        await until_told(shared, "text")
        again = await flow.answer(asked, YES)
    assert (again.ending, results(again.events)) == ("success", ["deployed"])
    assert "It still waits." in again.text
    assert shared.effects[before:] == [{"version": "v8"}]


async def test_of_two_questions_at_once_one_is_asked_and_the_other_refused(shared: Place) -> None:
    async with talking(shared) as flow:
        asked = await flow.say("two")
        assert [ask["message"] for ask in asked.asks] == ["Which size?"]
        again = await flow.answer(asked, "M")
    assert again.text.startswith("M; A workflow asks one thing at a time")


async def test_a_result_that_is_told_late_is_of_no_other_call(shared: Place) -> None:
    async with talking(shared) as flow:
        first = await flow.say("both")
        second = await flow.answer(first, YES)
        ended = await flow.answer(second, YES)
    goes_on = "The workflow has the approval, and goes on."
    assert (results(second.events), results(ended.events)) == ([goes_on], [goes_on])
    assert ended.text == "It is paid. Done."


async def test_a_message_that_meets_a_new_question_is_told_that_the_workflow_has_it_not(
    shared: Place,
) -> None:
    async with talking(shared, patience=0.5) as flow:
        await flow.say("soon")
        await until_told(shared, "question")
        asked = await flow.say("and a hat")
        assert [ask["message"] for ask in asked.asks] == ["Which size?"]
        assert asked.text.startswith("It is checked. The workflow asks something first, and was ")


async def test_a_message_to_a_workflow_at_work_is_refused_and_said_so(shared: Place) -> None:
    async with talking(shared, patience=1.0) as flow:
        told = await flow.say("silent")
        assert "will be told here" in told.text
        refused = await flow.say("hello")
        await flow.stop()
    assert refused.ending == "UPSTREAM_ERROR"
    assert "still at work" in refused.fault


@pytest.mark.parametrize(("text", "expires_in"), [("brief", None), ("deploy", 1.0)])
async def test_a_workflow_whose_question_expired_is_told_so_and_ends_before_the_next_begins(
    shared: Place, text: str, expires_in: float | None
) -> None:
    before = len(shared.effects)
    async with talking(shared, expires_in=expires_in) as flow:
        await flow.say(text)
        await asyncio.sleep((expires_in or 2.0) + 0.2)
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
