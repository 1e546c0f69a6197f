"""What agents take back of their words, in runs with checkpoints: stored, and in the chain."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest
from ag_ui.core import (
    BaseEvent,
    EventType,
    MessagesSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)

from agui_bridge import FunctionRun
from agui_bridge.protocol.audit.sealing import AuditKeys
from agui_bridge.protocol.audit.verifying import verify_redactions
from tests.support.agents import Bench, text_events
from tests.support.dying import World, dies

GO: Mapping[str, Any] = {"id": "go", "role": "user", "content": "go"}


def anew(*messages: Mapping[str, Any]) -> BaseEvent:
    """The conversation as the agent has it now."""
    now: Any = [GO, *messages]
    return MessagesSnapshotEvent.model_construct(type=EventType.MESSAGES_SNAPSHOT, messages=now)


async def die_at(world: World, commit: int) -> tuple[Bench, Sequence[Mapping[str, Any]]]:
    """Have a process die, and another one go on; that, and the conversation then."""
    first, second = world.process(dies_at=commit), world.process()
    await dies(first.begin("go"), first)
    await world.over()
    await world.sweep(second)
    return second, [row.message for row in (await second.load()).messages]


async def taking_out(world: World, run: FunctionRun) -> AsyncIterator[Any]:
    for event in text_events("m", "secret"):
        yield event
    await run.step("first", world.act, "first")
    yield anew()
    await run.step("second", world.act, "second")
    await run.step("third", world.act, "third")
    yield "done"


@pytest.mark.parametrize("commit", [100, 4, 6])
async def test_what_was_taken_out_before_a_checkpoint_stays_out(commit: int) -> None:
    world = World(taking_out)
    bench, messages = await die_at(world, commit)

    assert [message["content"] for message in messages] == ["go", "done"]
    assert set(world.effects.values()) == {1}
    assert "m" in [row.id for row in await bench.stored()]
    await world.aclose()


async def redacting(world: World, run: FunctionRun) -> AsyncIterator[Any]:
    yield TextMessageStartEvent(message_id="m", role="assistant")
    yield TextMessageContentEvent(message_id="m", delta="secret")
    yield anew({"id": "m", "role": "assistant", "content": "[redacted]"})
    await run.step("first", world.act, "first")
    yield TextMessageContentEvent(message_id="m", delta=" and more")
    await run.step("second", world.act, "second")
    yield TextMessageEndEvent(message_id="m")


@pytest.mark.parametrize("commit", [100, 4, 5])
async def test_a_redacted_message_that_goes_on_over_checkpoints_is_told_as_it_is(
    commit: int,
) -> None:
    world, keys = World(redacting), AuditKeys(["k" * 32])
    world.store.audit.keys = keys
    bench, messages = await die_at(world, commit)

    rows = await world.store.audit.rows(bench.KEY)
    assert rows
    assert list(verify_redactions(bench.KEY, rows, messages, keys)) == []
    assert "secret" not in str(messages)
    await world.aclose()
