"""The adapter against this project's own bridge, spoken to as a 1.0 and as a 0.x server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agui_bridge import Bridge, Principal
from agui_bridge.stores.memory import MemoryStore
from agui_bridge_agui import AguiAdapter
from examples.approval_target import make_bridge
from tests.adapters.agui.upstream import Talk
from tests.support.agents import eventually
from tests.support.clock import FakeClock
from tests.support.effects import lines_of
from tests.support.server import serve

APPROVE = {"approved": True}


class Sites:
    """A front bridge, whose agent is the approval target behind a bridge of its own.

    Attributes:
        clock: the front store's.
    """

    def __init__(self, bridge: Bridge, clock: FakeClock, far: Bridge, effects: Path) -> None:
        self.bridge = bridge
        self.clock = clock
        self.far = far
        self._effects = effects

    def talk(self, thread: str = "t") -> Talk:
        return Talk(self.bridge, "agent", thread)

    @property
    def executed(self) -> int:
        return len(lines_of(self._effects))


@contextlib.asynccontextmanager
async def sites(folder: Path, dialect: Any = "1.0", **options: Any) -> AsyncIterator[Sites]:
    far = make_bridge("memory:", folder / "effects.jsonl", **options)
    async with serve(far.app(anonymous=True)) as base:
        url = f"{base}/agents/target"
        clock = FakeClock()
        near = Bridge(MemoryStore(clock.time))
        stop_url = f"{url}/threads/{{threadId}}/stop"
        near.add("agent", AguiAdapter(url, dialect=dialect, stop_url=stop_url))
        async with near.lifespan():
            yield Sites(near, clock, far, folder / "effects.jsonl")


@pytest.mark.parametrize("dialect", ["1.0", "0.x"])
async def test_every_kind_of_question_is_answered_through_two_bridges(
    tmp_path: Path, dialect: str
) -> None:
    async with sites(tmp_path, dialect) as both:
        talk = both.talk()
        await talk.say("send ann")
        assert talk.asks[0]["responseSchema"]["properties"]["editedArgs"]["required"]
        edited = {"approved": True, "editedArgs": {"to": "bob@example.com", "body": "x"}}
        assert await talk.answer(edited) == "Outcome: sent to bob@example.com."
        await talk.say("both ann")
        assert await talk.answer(APPROVE, None) == "Outcomes: sent to ann-0@example.com, not sent."
        await talk.say("form ann")
        assert await talk.answer({"quarter": "Q2", "year": 2026}) == "Quarter: Q2 2026."
        await talk.say("confirm ann")
        assert await talk.answer({"confirm": False}) == "Not confirmed."
        await talk.say("send ann")
        assert await talk.answer({"approved": False, "reason": "no"}) == "Outcome: not sent."
        assert both.executed == 2


async def test_what_expires_in_front_is_withdrawn_behind(tmp_path: Path) -> None:
    async with sites(tmp_path, expires_in=60) as both:
        talk = both.talk()
        await talk.say("send ann")
        both.clock.advance(61)
        # What the run behind said of the withdrawal is part of the conversation.
        assert await talk.say("hello") == "Outcome: not sent.You said: hello"
        assert both.executed == 0


async def test_a_stop_reaches_the_run_behind(tmp_path: Path) -> None:
    async with sites(tmp_path) as both:
        talk = both.talk()
        saying = asyncio.create_task(talk.say("slow 200"))
        await eventually(lambda: "TEXT_MESSAGE_CONTENT" in talk.kinds)
        assert (await both.bridge.stop("agent", "t")).status == "success"
        assert (await saying).startswith("0 ")
        assert talk.ending == "cancelled"
        behind = Talk(both.far, "target", "t")
        user = {"id": "u9", "role": "user", "content": "hello"}
        assert await behind.send(messages=[user]) == "success", "it still runs there"
        assert behind.said == "You said: hello"


async def test_threads_of_other_scopes_are_other_threads_behind(tmp_path: Path) -> None:
    async with sites(tmp_path) as both:
        ann, bob = both.talk(), both.talk()
        await ann.say("send ann")
        await bob._send(
            principal=Principal("bob", "bob"),
            messages=[{"id": "u1", "role": "user", "content": "hello"}],
        )
        assert bob.ending == "success"
        assert await ann.answer(APPROVE) == "Outcome: sent to ann-0@example.com."


async def test_messages_sent_with_an_answer_arrive_behind(tmp_path: Path) -> None:
    async with sites(tmp_path) as both:
        talk = both.talk()
        await talk.say("confirm ann")
        entry = {
            "interruptId": talk.asks[0]["id"],
            "status": "resolved",
            "payload": {"confirm": True},
        }
        user = {"id": "u7", "role": "user", "content": "and thanks"}
        assert await talk.send(resume=[entry], messages=[user]) == "success"
        assert await talk.say("hello") == "You said: hello"
