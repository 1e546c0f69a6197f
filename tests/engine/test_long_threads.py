"""Of one scope's long threads only so much is loaded at once; short ones never wait for that."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import pytest

from agui_bridge.adapters import Run
from agui_bridge.engine.engine import Engine
from agui_bridge.engine.input.settings import Settings
from agui_bridge.engine.input.submission import Agent, Submission
from agui_bridge.engine.reconnecting import show_thread
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import Principal, ThreadKey
from agui_bridge.stores.memory import MemoryStore
from tests.support.agents import Reader, Scripted, eventually

LONG = 600_000
"""Characters of a thread that is long."""


class Counting(MemoryStore):
    """Knows how many looks at whole long threads were in hand at once, and holds them up.

    Attributes:
        most: so many at once, at most, of those that wait for `go`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = self.most = 0
        self.holds = False
        self.go = asyncio.Event()

    async def load(
        self,
        key: ThreadKey,
        interrupt_ids: Sequence[str] = (),
        *,
        messages: bool = False,
        receipt: str | None = None,
    ) -> Loaded:
        loaded = await super().load(key, interrupt_ids, messages=messages, receipt=receipt)
        if self.holds and messages and key.thread.startswith("long"):
            self.now += 1
            self.most = max(self.most, self.now)
            await self.go.wait()
            self.now -= 1
        return loaded


class Threads:
    """Threads of one agent: `long-N`, and `short`."""

    def __init__(self, **settings: Any) -> None:
        self.store = Counting()
        self.settings = Settings(sweep_interval=0, busy_patience=0, **settings)
        self.engine = Engine(self.store, self.settings)
        self.agent = Agent("agent", Scripted(["yes"]), self.settings)
        self._n = 0

    def input(self, thread: str, text: str, scope: str = "default") -> Submission:
        self._n += 1
        message = {"id": f"m{self._n}", "role": "user", "content": text}
        body = {"threadId": thread, "runId": f"r{self._n}", "messages": [message]}
        return Submission(self.agent, Principal(scope, "ann"), parse_input(body))

    async def say(self, thread: str, text: str = "hi", scope: str = "default") -> str:
        submission = self.input(thread, text, scope)
        events = await Reader(*self.engine.submit(submission)).rest()
        return str(events[-1]["type"])

    async def show(self, thread: str) -> str:
        events = await Reader(*show_thread(self.engine, self.input(thread, "hi"))).rest()
        return str(events[-1]["type"])

    async def fill(self, many: int, scope: str = "default") -> None:
        for n in range(many):
            await self.say(f"long-{n}", "x" * LONG, scope)
            # It is known to be long from here on.
            await self.say(f"long-{n}", "hi", scope)


@pytest.mark.parametrize("way", ["say", "show"])
@pytest.mark.parametrize(("room", "most"), [(1, 1), (2, 2), (100, 6)])
async def test_only_so_many_bytes_are_loaded_at_once(
    way: str, room: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = Threads(max_bytes_per_scope=room * (LONG + 10_000))
    await threads.fill(6)
    # Loads of long threads take turns, too: here their time is not what is looked at.
    monkeypatch.setattr(threads.engine.threads, "turn", lambda scope, heavy: nullcontext())
    threads.store.holds = True

    ask = getattr(threads, way)
    asked = [asyncio.ensure_future(ask(f"long-{n}")) for n in range(6)]
    wanted = min(most, 2) if way == "show" else most
    await eventually(lambda: threads.store.now == wanted)
    # Short threads, and those of others, are not held up.
    assert await threads.say("short") == "RUN_FINISHED"
    threads.store.go.set()

    assert await asyncio.gather(*asked) == ["RUN_FINISHED"] * 6
    assert threads.store.most == wanted


async def test_one_scope_does_not_wait_for_another() -> None:
    threads = Threads(max_bytes_per_scope=1)
    await threads.fill(1)
    await threads.fill(1, scope="other")
    async with threads.engine.threads.hold(ThreadKey("default", "agent", "long-0")):
        waits = asyncio.ensure_future(threads.say("long-0"))
        assert await threads.say("long-0", scope="other") == "RUN_FINISHED"
        assert not waits.done()
    assert await waits == "RUN_FINISHED"


async def test_who_waits_for_a_run_has_nothing_in_hand() -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def answer(run: Run) -> Any:
        if run.text == "slow":
            begun.set()
            await go.wait()
        yield "yes"

    threads = Threads(max_bytes_per_scope=1)
    threads.agent = Agent("agent", Scripted(answer), Settings(busy_patience=60))
    threads.engine.settings = Settings(busy_patience=60)
    await threads.fill(2)
    slow = asyncio.ensure_future(threads.say("long-0", "slow"))
    await begun.wait()
    second = asyncio.ensure_future(threads.say("long-0"))
    # It waits for the run, and the scope's other long thread is looked at meanwhile.
    assert await threads.say("long-1") == "RUN_FINISHED"
    assert not second.done()
    go.set()
    assert [await slow, await second] == ["RUN_FINISHED"] * 2
