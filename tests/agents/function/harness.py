"""Drives a FunctionAdapter as the engine would: runs, pauses, JSON round trips, resumes."""

import asyncio
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import BaseEvent, RunAgentInput, StateDeltaEvent

from agui_bridge.adapters import Adapter, Ask, Handoff, HandoffResults, Pause, Resume, Run, RunItem
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.protocol.answers.decisions import Answer, Approve, Decision, Decline
from agui_bridge.protocol.json_patch import apply_patch
from agui_bridge.protocol.threads.records import Principal

MakeAgent = Callable[[], Callable[..., Any]]
Decide = Callable[[Ask], Decision]


def make_run(ids: Callable[[], str] = lambda: "id", **changes: Any) -> Run:
    """A fresh run with minted ids."""
    body = RunAgentInput(
        thread_id="t", run_id="r", messages=[], tools=[], context=[], state={}, forwarded_props={}
    )
    values: dict[str, Any] = {"agent": "a", "thread_id": "t", "run_id": "r", "input": body}
    return Run(**{**values, "principal": Principal(), "mint": ids, **changes})


@dataclass
class Outcome:
    """What one run emitted and how it ended."""

    items: list[RunItem]
    final: Pause | Handoff | None
    run: Run

    @property
    def text(self) -> str:
        return "".join(item for item in self.items if isinstance(item, str))

    @property
    def wire(self) -> list[Any]:
        """Text as it is, events as tuples of their type and telling parts."""
        return [show(item) for item in self.items]

    @property
    def pause(self) -> Pause:
        assert isinstance(self.final, Pause), self.final
        return self.final

    @property
    def handoff(self) -> Handoff:
        assert isinstance(self.final, Handoff), self.final
        return self.final

    @property
    def asked(self) -> list[str | None]:
        return [a.tool_call.name if a.tool_call else a.message for a in self.pause.asks]


def show(item: RunItem) -> Any:
    if isinstance(item, str):
        return item
    assert isinstance(item, BaseEvent)
    wire = json.loads(item.model_dump_json(by_alias=True, exclude_none=True))
    kind = wire.pop("type")
    wire.pop("messageId", None)
    return (kind, *wire.values())


async def items_of(adapter: Adapter, run: Run | None = None) -> list[RunItem]:
    return [item async for item in adapter.run(run or make_run())]


async def collect(adapter: FunctionAdapter, run: Run) -> Outcome:
    items: list[RunItem] = []
    async with asyncio.timeout(20):
        async for item in adapter.run(run):
            items.append(item)
    final = items.pop() if items and isinstance(items[-1], Pause | Handoff) else None
    assert final is None or isinstance(final, Pause | Handoff)
    assert not any(isinstance(item, Pause | Handoff) for item in items)
    return Outcome(items, final, run)


@dataclass
class Thread:
    """One thread of one agent; each run gets a new adapter of a newly made function."""

    make: MakeAgent
    state: Any = None
    messages: list[dict[str, Any]] = field(default_factory=list)
    last: Outcome | None = None
    counter: Any = field(default_factory=itertools.count)

    def mint(self) -> str:
        return f"id{next(self.counter)}"

    async def go(self, **changes: Any) -> Outcome:
        values = {"state": self.state, "raw_messages": list(self.messages), **changes}
        run = make_run(self.mint, **values)
        self.last = await collect(FunctionAdapter(self.make()), run)
        for item in self.last.items:
            if isinstance(item, StateDeltaEvent):
                wire = json.loads(item.model_dump_json(by_alias=True))
                self.state = apply_patch(self.state, wire["delta"])
        return self.last

    async def answer(self, decide: Decide | Sequence[Decision], **changes: Any) -> Outcome:
        assert self.last is not None
        pause = self.last.pause
        if callable(decide):
            decisions = {ask.native_id: decide(ask) for ask in pause.asks}
        else:
            pairs = zip(pause.asks, decide, strict=True)
            decisions = {ask.native_id: decision for ask, decision in pairs}
        continuation = json.loads(json.dumps(pause.continuation, allow_nan=False))
        return await self.go(resume=Resume(continuation, decisions), **changes)

    async def hand_back(self, results: Mapping[str, Any], **changes: Any) -> Outcome:
        assert self.last is not None
        continuation = json.loads(json.dumps(self.last.handoff.continuation))
        return await self.go(handoff=HandoffResults(continuation, dict(results)), **changes)


def yes(ask: Ask) -> Decision:
    """Approve and confirm everything."""
    if ask.tool_call is not None:
        return Approve(dict(ask.tool_call.args), {"approved": True})
    return Answer({"confirm": True})


def no(ask: Ask) -> Decision:
    """Refuse everything."""
    return Answer({"confirm": False}) if ask.tool_call is None else Decline("no")
