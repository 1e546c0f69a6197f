"""Answers at another process than the one in which the agent's side waits."""

from __future__ import annotations

import pytest

from agui_bridge import Bridge, Settings
from agui_bridge.stores.memory import MemoryStore
from tests.support.chat import Chat
from tests.support.holding import Holding, Outside
from tests.support.server import client, serve


@pytest.mark.parametrize("at", [0, 1])
async def test_what_the_agent_says_to_an_answer_is_told_at_every_process(at: int) -> None:
    outside, store = Outside(), MemoryStore()
    agents, bridges = [Holding(outside) for _ in range(2)], []
    for agent in agents:
        bridges.append(Bridge(store, settings=Settings(shutdown_grace=0.1, cancel_grace=0.2)))
        bridges[-1].add("agent", agent)
    async with (
        serve(bridges[0].app(anonymous=True)) as here,
        serve(bridges[1].app(anonymous=True)) as there,
        client(here) as asking,
        client((here, there)[at]) as answering,
    ):
        asked = await Chat(asking).say("go")
        told = await Chat(answering).answer(approved=True)

    assert asked.interrupt is not None
    assert (told.text, told.error) == ("Finished.", None)
    assert (outside.acts, [agent.told for agent in agents]) == (["c1"], [[True], []])
