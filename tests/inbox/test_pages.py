"""Pages of what waits: with very many questions they cost no more than with a thousand."""

from typing import Any

import pytest

from agui_bridge import Bridge, Principal
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.memory import MemoryStore
from tests.stores.samples import ask, interrupted, put
from tests.support.agents import Answering

ANN = Principal("team", "ann")


async def bridge_with(questions: int) -> Bridge:
    store = MemoryStore()
    for number in range(questions):
        key = ThreadKey("team", "agent", f"{number:04d}")
        await put(store, interrupted(key), interrupts=(ask("a"),))
    bridge = Bridge(store)
    bridge.add("agent", Answering())
    return bridge


@pytest.mark.parametrize("mine", [False, True])
@pytest.mark.parametrize(("questions", "count"), [(1000, 1000), (1001, None)])
async def test_more_than_a_thousand_are_not_counted(
    questions: int, count: int | None, mine: bool
) -> None:
    bridge = await bridge_with(questions)

    page = await bridge.pending(ANN, mine=mine, limit=3)
    every = await bridge.pending(ANN, mine=mine, limit=5000)

    assert (page.count, len(page.rows), page.cursor is None) == (count, 3, False)
    assert (every.count, len(every.rows), every.cursor) == (count, questions, None)
    await bridge.aclose()


@pytest.mark.parametrize("mine", [False, True])
async def test_pages_have_each_question_once(mine: bool) -> None:
    bridge = await bridge_with(1100)
    found: list[str] = []
    more: dict[str, Any] = {}
    while True:
        page = await bridge.pending(ANN, mine=mine, limit=300, **more)
        found += [row.row.key.thread for row in page.rows]
        if page.cursor is None:
            break
        more = {"after": page.cursor}

    assert found == [f"{number:04d}" for number in range(1100)]
    await bridge.aclose()
