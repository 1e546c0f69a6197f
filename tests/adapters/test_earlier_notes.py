"""What an earlier version noted of a conversation as JSON, not as its text, is read as before."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from agent_framework import Agent as FrameworkAgent
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agui_bridge.frozen import replace
from agui_bridge.installed import adapter_of
from agui_bridge.stores.base import Change, Expected
from examples.agent_framework.model import OfflineClient
from tests.support.agents import Bench, outcome

heard: list[int] = []


async def pydantic_reply(messages: list[Any], info: AgentInfo) -> AsyncIterator[str]:
    heard.append(len(messages))
    yield "ok"


async def framework_reply(messages: Any, options: Any) -> AsyncIterator[str]:
    heard.append(len(messages))
    yield "ok"


AGENTS: dict[str, tuple[Callable[[], Any], str]] = {
    "pydantic-ai": (
        lambda: PydanticAgent(FunctionModel(stream_function=pydantic_reply), name="a"),
        "messages",
    ),
    "agent-framework": (
        lambda: FrameworkAgent(OfflineClient(framework_reply), name="a"),
        "session",
    ),
}


@pytest.mark.parametrize("name", AGENTS)
async def test_it_is_read_as_before(name: str) -> None:
    made, member = AGENTS[name]
    heard.clear()
    bench = Bench(adapter_of(made()))
    assert outcome(await bench.say("one")) == "success"
    record: Any = (await bench.load()).record
    assert isinstance(record.memo[member], str)
    # What the memo alone has: were it not read, the thread's messages would be told instead.
    earlier = {**record.memo, member: json.loads(record.memo[member].replace('"one"', '"noted"'))}
    change = Change(record=replace(record, memo=earlier))
    await bench.store.commit(bench.KEY, change, Expected(version=record.version), "earlier")
    assert outcome(await bench.say("two")) == "success"
    assert heard == [1, 3]
    record = (await bench.load()).record
    assert '"noted"' in record.memo[member] and isinstance(record.memo[member], str)
