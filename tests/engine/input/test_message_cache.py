"""Messages of long threads between two inputs: how many are kept, and that nobody changes them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from copy import deepcopy
from typing import Any

from agui_bridge.adapters import Run, RunItem
from agui_bridge.engine.input.past import MessageCache
from agui_bridge.protocol.threads.history import History
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.memory import MemoryStore
from tests.stores.samples import KEY, idle, message, put
from tests.support.agents import Bench, Scripted

LONG = [f"said {number}" for number in range(120)]


async def test_what_an_agent_does_to_its_messages_is_not_in_the_next_run() -> None:
    async def spoils(run: Run) -> AsyncIterator[RunItem]:
        given: Any = run.raw_messages
        given[0]["content"] = "spoilt"
        given[-1]["metadata"]["by"]["whom"] = "spoilt"
        new: Any = run.raw_new_messages
        new[-1]["metadata"]["by"]["whom"] = "spoilt"
        sent: Any = run.input.messages[-1]
        sent.metadata["by"]["whom"] = "spoilt"
        yield "heard"

    agent = Scripted(spoils, ["heard"])
    bench = Bench(agent)
    said = [{"id": text, "role": "user", "content": text} for text in LONG]
    said[-1]["metadata"] = {"by": {"whom": "ann"}}  # type: ignore[assignment]
    await bench.say(messages=deepcopy(said))
    await bench.say("next")
    shown = list(agent.runs[-1].raw_messages)
    assert shown[: len(said)] == said
    assert shown == [m.message for m in (await bench.load()).messages][:-1]


async def test_what_is_kept_is_bounded_and_the_longest_idle_goes_first() -> None:
    store = MemoryStore()
    keys = [ThreadKey("scope", "agent", f"thread {number}") for number in range(5)]
    for key in keys:
        messages = [message(f"m{number}", number + 1) for number in range(100)]
        await put(store, idle(key), messages=messages)
    kept = MessageCache(store, most_bytes=200_000)
    for key in keys:
        await kept.load(key)
        assert kept.weight <= 200_000
    assert kept.threads == keys[-2:]


async def test_a_thread_beyond_the_bound_is_not_kept_and_short_ones_are_not() -> None:
    store = MemoryStore()
    long = [message(f"m{number}", number + 1, content="x" * 5_000) for number in range(100)]
    await put(store, idle(KEY), messages=long)
    short = ThreadKey("scope", "agent", "short")
    await put(store, idle(short), messages=long[:99])
    kept = MessageCache(store, most_bytes=200_000)
    assert len((await kept.load(KEY)).messages) == 100
    assert len((await kept.load(short)).messages) == 99
    assert kept.threads == [] and kept.weight == 0


async def test_a_history_that_is_not_stored_whole_is_not_kept() -> None:
    store = MemoryStore()
    committed = await put(
        store, idle(KEY), messages=[message(f"m{number}", number + 1) for number in range(100)]
    )
    kept = MessageCache(store)
    history = History((await kept.load(KEY)).messages)
    history.add({"id": "new", "role": "user", "content": "not stored"})
    kept.keep(KEY, committed.record, history)
    assert kept.threads == []
    history.take_dirty()
    kept.keep(KEY, committed.record, history)
    assert kept.threads == [KEY]


async def test_the_weight_of_what_a_thread_gains_counts() -> None:
    bench = Bench(Scripted(["x" * 1_000]))
    await bench.say(*LONG)
    kept = bench.engine.threads.kept
    before = kept.weight
    for number in range(5):
        await bench.say(f"more {number}")
    assert before + 5 * 2_400 <= kept.weight <= before + 5 * 5_000
