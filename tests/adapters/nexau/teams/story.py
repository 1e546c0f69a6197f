"""Carries a case out behind the bridge; says what came of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp

from agui_bridge.engine.input.submission import Submission
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.threads.records import Principal, ThreadKey
from agui_bridge_nexau import NexauAdapter
from tests.adapters.nexau.teams.cases import Case
from tests.support.agents import Bench, Reader, outcome
from tests.support.server import serve
from tests.support.waiting import PATIENCE

__all__ = ["Story", "tell"]

KEY = ThreadKey("default", "agent", "case")


@dataclass
class Story:
    """What came of a case.

    Attributes:
        outcomes: how the runs ended.
        shown: the conversation: who said what, with the names of teammates.
        asked_by: who asked last; None for the leader.
        interrupts: what was asked.
    """

    outcomes: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    asked_by: str | None = None
    interrupts: list[Mapping[str, Any]] = field(default_factory=list)


async def tell(
    case: Case, app: ASGIApp, let: Callable[[str], None], come: Callable[[], Awaitable[object]]
) -> Story:
    """Carry a case out.

    Args:
        case: which.
        app: NexAU, or what stands for it.
        let: lets the model of a user message go on.
        come: waits until NexAU has come to the stop.
    """
    story, names = Story(), dict[str, str]()
    async with _bench(app, case.name) as bench:
        for number, said in enumerate(case.says):
            first = number == 0
            reader = _begin(bench, said, story.interrupts if not first else [])
            lets = dict(case.lets) if first else {}
            stopping: asyncio.Task[Any] | None = None
            async with asyncio.timeout(2 * PATIENCE):
                while await reader.step():
                    for seen in [words for words in lets if words in reader.text]:
                        let(lets.pop(seen))
                    if first and case.stop and not stopping and case.stop_at in reader.text:
                        await come()
                        forced = case.stop == "forced"
                        stopping = asyncio.create_task(
                            bench.engine.stop(KEY, force=forced, timeout=PATIENCE)
                        )
                        await asyncio.sleep(0.2)
                        for held in case.scripts:
                            let(held)
            if stopping is not None:
                await stopping
            await reader.rest()
            end = reader.events[-1]
            story.outcomes.append(outcome(reader.events))
            for event in reader.events:
                if event["type"] == "SUBAGENT_STARTED":
                    names[event["subagentRunId"]] = event["name"]
            story.interrupts = (end.get("outcome") or {}).get("interrupts") or []
            for one in story.interrupts:
                story.asked_by = names.get(one.get("subagentRunId", ""))
        loaded = await bench.store.load(KEY, messages=True)
        for entry in loaded.messages:
            story.shown += _lines(entry.message, names)
    return story


def _begin(bench: Bench, said: str, asked: list[Mapping[str, Any]]) -> Reader:
    body: dict[str, Any] = {"threadId": "case", "runId": said, "protocolVersion": "1.0"}
    body["messages"] = [] if asked else [{"id": said, "role": "user", "content": said}]
    if asked:
        body["resume"] = [
            {"interruptId": one["id"], "status": "resolved", "payload": {"answer": said}}
            for one in asked
        ]
    call = Submission(bench.agent, Principal(), parse_input(body), "continue")
    return Reader(*bench.engine.submit(call))


@contextlib.asynccontextmanager
async def _bench(app: ASGIApp, name: str) -> AsyncIterator[Bench]:
    async with serve(app, lifespan="off") as base:
        adapter = NexauAdapter(
            base, team=True, session_prefix=f"{name}-", busy_patience=0.0, drain_timeout=5.0
        )
        try:
            async with Bench(adapter, cancel_grace=PATIENCE).open() as bench:
                yield bench
        finally:
            await adapter.aclose()


def _lines(message: Mapping[str, Any], names: Mapping[str, str]) -> list[str]:
    owner = message.get("subagentRunId")
    who = names[owner] if owner is not None else message["role"]
    if message["role"] == "tool":
        return [f"{who} <- {message['toolCallId']}"]
    said = [f"{who}: {message['content']}"] if message.get("content") else []
    calls = [f"{who} -> {c['function']['name']} {c['id']}" for c in message.get("toolCalls") or ()]
    return said + calls
