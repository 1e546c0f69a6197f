"""The queue between a framework's task and the run that the engine reads."""

from __future__ import annotations

import asyncio

import pytest
from ag_ui.core import TextMessageEndEvent

from agui_bridge.frameworks.item_queue import ItemQueue, join_text

pytestmark = pytest.mark.anyio


async def passes(count: int = 5) -> None:
    """Let everybody else have their turn."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_all_that_is_ready_is_taken_at_once_and_the_end_comes_after_it() -> None:
    queue = ItemQueue()
    queue.write("a")
    queue.write("b")
    queue.close()

    assert [await queue.take(), await queue.take()] == [["a", "b"], []]


async def test_a_reader_that_waits_gets_what_comes_and_then_the_end() -> None:
    queue = ItemQueue()
    reader = asyncio.create_task(queue.take())
    await passes()
    queue.write("a")

    assert await reader == ["a"]
    reader = asyncio.create_task(queue.take())
    await passes()
    queue.close()
    assert await reader == []


async def test_a_writer_that_is_too_far_ahead_waits_for_the_reader() -> None:
    queue = ItemQueue(ahead=2)
    queue.write("a")
    assert not queue.full
    queue.write("b")
    assert queue.full
    writer = asyncio.create_task(queue.drained())
    await passes()
    assert not writer.done()

    await queue.take()
    await passes()

    assert writer.done()


async def test_taken_returns_once_the_reader_has_come_back_for_more_and_there_is_none() -> None:
    queue = ItemQueue()
    queue.write("a")
    waiting = asyncio.create_task(queue.taken())
    await queue.take()
    await passes()
    assert not waiting.done()
    queue.write("b")
    await queue.take()
    await passes()
    assert not waiting.done()

    reader = asyncio.create_task(queue.take())
    await passes()

    assert waiting.done()
    reader.cancel()


async def test_what_nobody_reads_any_more_holds_nobody_up_and_lets_nothing_begin() -> None:
    queue = ItemQueue(ahead=1)
    queue.write("a")
    writer = asyncio.create_task(queue.drained())
    waiting = asyncio.create_task(queue.taken())
    await passes()

    queue.abandon()
    queue.write("b")
    await passes()

    assert writer.done()
    assert not queue.full
    assert not waiting.done()
    waiting.cancel()


async def test_a_reader_that_was_cancelled_does_not_break_the_writer() -> None:
    queue = ItemQueue()
    reader = asyncio.create_task(queue.take())
    await passes()
    reader.cancel()
    await passes()

    queue.write("a")

    assert await queue.take() == ["a"]


def test_texts_that_follow_each_other_become_one_and_events_keep_their_places() -> None:
    end = TextMessageEndEvent(message_id="m")

    assert list(join_text(["a", "b", end, "c", "d"])) == ["ab", end, "cd"]
    assert list(join_text([end])) == [end]
    assert list(join_text([])) == []
