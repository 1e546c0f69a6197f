"""The official Python SDK's client at a bridge, over both of its transports."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from a2a import client as sdk, helpers
from a2a.types import a2a_pb2 as pb
from a2a.utils import errors

from agui_bridge import Bridge
from tests.support.effects import Effects
from tests.support.server import serve
from tests.support.waiting import eventually

ways = pytest.mark.parametrize("streaming", [True, False], ids=["streams", "whole"])


@asynccontextmanager
async def at(bridge: Bridge, agent: str, binding: str, streaming: bool) -> AsyncIterator[Any]:
    """A client made of the agent's card, as its page says."""
    async with (
        serve(bridge.app(anonymous=True)) as base,
        httpx.AsyncClient(trust_env=False, timeout=60) as session,
    ):
        config = sdk.ClientConfig(
            httpx_client=session, supported_protocol_bindings=[binding], streaming=streaming
        )
        yield await sdk.create_client(f"{base}/a2a/{agent}", config)


def said(text: str, **more: str) -> Any:
    return message([helpers.new_text_part(text)], **more)


def message(parts: list[Any], **more: Any) -> Any:
    made = pb.Message(message_id=uuid.uuid4().hex, role=pb.Role.ROLE_USER, parts=parts, **more)
    return pb.SendMessageRequest(message=made)


async def last_of(client: Any, sent: Any) -> Any:
    """Send a message and hear it out; gives the task as it stands then."""
    events = [event async for event in client.send_message(sent)]
    assert events[0].HasField("task")
    return await client.get_task(pb.GetTaskRequest(id=events[0].task.id))


def resume(task: Any, payload: Any) -> Any:
    (asked,) = helpers.get_data_parts(task.status.message.parts)
    entry = {"interruptId": asked["interrupts"][0]["id"], "status": "resolved", "payload": payload}
    parts = [helpers.new_data_part({"resume": [entry]})]
    return message(parts, task_id=task.id, context_id=task.context_id)


@ways
async def test_it_asks_is_asked_and_its_answer_is_carried_out_once(
    bridge: Bridge, binding: str, streaming: bool, effects: Effects
) -> None:
    async with at(bridge, "ops", binding, streaming) as client:
        task = await last_of(client, said("users"))
        assert task.status.state == pb.TaskState.TASK_STATE_INPUT_REQUIRED
        assert "delete_rows" in helpers.get_message_text(task.status.message)
        given = resume(task, {"approved": True})
        for _ in range(2):
            done = await last_of(client, given)
            assert done.status.state == pb.TaskState.TASK_STATE_COMPLETED
            texts = "".join(helpers.get_artifact_text(each) for each in done.artifacts)
            assert texts == "I will delete. rows of users deleted"
        with pytest.raises(Exception, match="Another answer was given"):
            await last_of(client, resume(task, {"approved": False}))
    assert effects.counted == {"deleted users": 1}


async def test_a_whole_number_arrives_as_one(
    bridge: Bridge, binding: str, effects: Effects
) -> None:
    async with at(bridge, "count", binding, False) as client:
        task = await last_of(client, said("go"))
        await last_of(client, resume(task, 3))
    assert effects.counted == {"3": 1}


async def test_it_gets_lists_cancels_and_comes_back(
    bridge: Bridge, binding: str, effects: Effects, tmp_path: Any
) -> None:
    async with at(bridge, "steps", binding, True) as client:
        told = client.send_message(said("go"))
        task = (await anext(told)).task
        await eventually(lambda: effects.counted)
        following = client.subscribe(pb.SubscribeToTaskRequest(id=task.id))
        assert (await anext(following)).task.id == task.id
        ended = await client.cancel_task(pb.CancelTaskRequest(id=task.id))
        assert ended.status.state == pb.TaskState.TASK_STATE_CANCELED
        last = [event async for event in following][-1]
        assert last.status_update.status.state == pb.TaskState.TASK_STATE_CANCELED
        await told.aclose()
        listed = await client.list_tasks(pb.ListTasksRequest(context_id=task.context_id))
        assert [each.id for each in listed.tasks] == [task.id]
        with pytest.raises(errors.TaskNotFoundError):
            await client.get_task(pb.GetTaskRequest(id="nothing"))
        with pytest.raises(errors.TaskNotCancelableError):
            await client.cancel_task(pb.CancelTaskRequest(id=task.id))
        card = await client.get_extended_agent_card(pb.GetExtendedAgentCardRequest())
        assert card.name == "steps"
