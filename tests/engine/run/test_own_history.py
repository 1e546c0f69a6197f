"""What a framework with a history of its own is told: what was taken back, and what it may lack."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from ag_ui.core import Tool

from agui_bridge.adapters import Pause, Run, RunItem
from agui_bridge.errors import NotDelivered, UpstreamError
from agui_bridge.protocol.answers.unexecuted import EXPIRED, FAILED_AMID
from agui_bridge.stores.memory import MemoryStore
from tests.support.agents import Bench, Scripted, approval, call_events, outcome, result


async def talking(run: Run) -> AsyncIterator[RunItem]:
    """Do what the message says."""
    if run.resume is not None:
        yield "resumed"
        return
    if run.text == "deny":
        raise NotDelivered("no")
    yield f"to {run.text}"
    if run.text == "fail":
        for event in call_events("c1"):
            yield event
        raise UpstreamError("no")
    if run.text == "call":
        for item in [*call_events("c2"), result("c2", "found")]:
            yield item
    if run.text == "ask":
        yield Pause([approval()])
    if run.text == "wait":
        await asyncio.Event().wait()


class Talk:
    """A thread whose every run may be of another process."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.last: Run | None = None

    async def say(self, *texts: str, stop: bool = False, **members: Any) -> list[dict[str, Any]]:
        adapter = Scripted(talking)
        bench = Bench(adapter, store=self.store)
        reader = bench.begin(*texts, **members)
        if stop:
            await reader.until("TEXT_MESSAGE_CONTENT")
            await bench.engine.stop(bench.KEY, force=True)
        events = await reader.rest()
        self.last = adapter.runs[-1] if adapter.runs else self.last
        return events

    async def messages(self) -> list[dict[str, Any]]:
        loaded = await self.store.load(Bench.KEY, messages=True)
        return [dict(m.message) for m in loaded.messages]

    def contents(self, messages: Sequence[Any]) -> list[Any]:
        return [m.get("content") for m in messages]

    @property
    def run(self) -> Run:
        assert self.last is not None
        return self.last


async def test_nothing_is_lacking_after_runs_that_ended_by_themselves() -> None:
    talk = Talk()
    for text in ("one", "call", "two"):
        await talk.say(text)
    assert (talk.run.superseded, talk.run.unkept) == ([], [])


async def test_what_was_cut_off_by_a_stop_is_lacking_until_a_run_has_ended_by_itself() -> None:
    talk = Talk()
    await talk.say("one")
    await talk.say("wait", stop=True)
    await talk.say("deny")
    assert talk.contents(talk.run.unkept) == ["to wait"]
    assert talk.run.unkept[0]["metadata"] == {"agui_bridge": {"truncated": True}}
    await talk.say("two")
    assert talk.contents(talk.run.unkept) == ["to wait"]
    await talk.say("three")
    assert talk.run.unkept == []


async def test_what_a_run_said_and_called_that_failed_is_lacking() -> None:
    talk = Talk()
    await talk.say("one")
    await talk.say("fail")
    await talk.say("two")
    assert talk.contents(talk.run.unkept) == ["to fail", FAILED_AMID]


async def test_the_results_that_were_supplied_for_an_expired_question_are_lacking() -> None:
    talk = Talk()
    await Bench(Scripted(_asking), store=talk.store, expires_in=0.0).say("go")
    await talk.say("two")
    assert talk.contents(talk.run.unkept) == [EXPIRED]


async def _asking(run: Run) -> AsyncIterator[RunItem]:
    for event in call_events("c0"):
        yield event
    yield result("c0", "found")
    yield Pause([approval()])


async def test_an_answered_question_leaves_nothing_lacking() -> None:
    talk = Talk()
    asked = (await talk.say("ask"))[-1]["outcome"]["interrupts"]
    await talk.say(resume=Bench.entries(asked, {"approved": False}))
    assert talk.run.unkept == []
    await talk.say("two")
    assert talk.run.unkept == []


async def test_what_a_client_took_back_is_told_until_a_run_has_ended_by_itself() -> None:
    talk = Talk()
    await talk.say("one")
    await talk.say("two")
    before = await talk.messages()
    gone = [m["id"] for m in before[2:]]
    edited = {"id": "e", "role": "user", "content": "fail"}
    await talk.say(messages=[*before[:2], edited])
    assert talk.run.superseded == gone
    await talk.say("three")
    assert talk.run.superseded == gone
    assert talk.contents(talk.run.unkept)[0] == "to fail"
    await talk.say("four")
    assert (talk.run.superseded, talk.run.unkept) == ([], [])


async def test_what_is_cut_off_after_going_back_is_lacking_too() -> None:
    talk = Talk()
    for text in ("one", "two", "three"):
        await talk.say(text)
    before = await talk.messages()
    edited = {"id": "e", "role": "user", "content": "wait"}
    await talk.say(messages=[*before[:2], edited], stop=True)
    await talk.say("four")
    assert talk.contents(talk.run.unkept) == ["to wait"]


@pytest.mark.parametrize("members", [{}, {"tools": []}, {"tools": [{"name": "pick"}]}])
async def test_the_tools_of_an_application_are_a_list(members: dict[str, Any]) -> None:
    talk = Talk()
    for tool in members.get("tools", ()):
        tool |= {"description": "", "parameters": {}}
    assert outcome(await talk.say("one", **members)) == "success"
    assert [tool.name for tool in talk.run.tools] == [t["name"] for t in members.get("tools", ())]
    assert all(isinstance(tool, Tool) for tool in talk.run.tools)
