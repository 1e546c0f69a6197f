"""Frameworks in the bridge's process: a token through their adapter, against their own stream."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, Final

from agui_bridge import Bridge
from benchmarks.requests import new_thread, run_input
from benchmarks.rounds import interleave, no_collection
from benchmarks.rows import BenchmarkBroken, Row, ratio
from benchmarks.setup import Setup

__all__ = ["FRAMEWORKS", "frameworks"]

_TOKEN: Final = " token"


@dataclass(frozen=True)
class _Contender:
    """An agent with a model that says the same tokens at once.

    Attributes:
        agent: what the bridge is given.
        alone: reads the framework's own stream to its end and gives the characters of text in it.
    """

    agent: Any
    alone: Callable[[], Awaitable[int]]


def _pydantic_ai(tokens: int) -> _Contender:
    from pydantic_ai import Agent, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
    from pydantic_ai.models.function import FunctionModel

    async def said(_messages: object, _info: object) -> AsyncIterator[str]:
        for _ in range(tokens):
            yield _TOKEN

    agent = Agent(FunctionModel(stream_function=said))

    async def alone() -> int:
        length = 0
        async with agent.run_stream_events("go") as events:
            async for event in events:
                match event:
                    case PartStartEvent(part=TextPart(content=text)):
                        length += len(text)
                    case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                        length += len(text)
        return length

    return _Contender(agent, alone)


def _langgraph(tokens: int) -> _Contender:
    from langchain.agents import create_agent
    from langchain_core.language_models.chat_models import BaseChatModel
    from langchain_core.messages import AIMessageChunk, HumanMessage
    from langchain_core.outputs import ChatGenerationChunk, ChatResult
    from langgraph.checkpoint.memory import InMemorySaver

    class Ready(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "ready"

        def _generate(self, *_: Any, **__: Any) -> ChatResult:
            raise NotImplementedError

        async def _astream(self, *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
            for _token in range(tokens):
                yield ChatGenerationChunk(message=AIMessageChunk(content=_TOKEN))

    graph = create_agent(Ready(), checkpointer=InMemorySaver())

    async def alone() -> int:
        length = 0
        config: Any = {"configurable": {"thread_id": new_thread()}}
        given: Any = {"messages": [HumanMessage("go")]}
        parts: AsyncIterator[Any] = graph.astream(given, config, stream_mode="messages")
        async for chunk, _ in parts:
            length += len(chunk.content)
        return length

    return _Contender(graph, alone)


def _openai_agents(tokens: int) -> _Contender:
    from agents import Agent, Runner, Tool, set_tracing_disabled

    from examples.openai_agents.offline import Item, OfflineModel

    async def said(_items: list[Item], _tools: list[Tool]) -> AsyncIterator[str]:
        for _ in range(tokens):
            yield _TOKEN

    set_tracing_disabled(True)
    agent: Agent[Any] = Agent("agent", model=OfflineModel(said))

    async def alone() -> int:
        length = 0
        async for event in Runner.run_streamed(agent, "go").stream_events():
            if (
                event.type == "raw_response_event"
                and event.data.type == "response.output_text.delta"
            ):
                length += len(event.data.delta)
        return length

    return _Contender(agent, alone)


FRAMEWORKS: Final[Mapping[str, Callable[[int], _Contender]]] = {
    "agents": _openai_agents,
    "langgraph": _langgraph,
    "pydantic_ai": _pydantic_ai,
}
"""By the module that must be installed."""


async def _post(app: Any, body: bytes) -> int:
    """A run as a server hands it over, without a socket; gives the characters of text told."""
    length, sent = 0, False

    async def receive() -> dict[str, Any]:
        nonlocal sent
        if sent:
            await asyncio.Event().wait()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Mapping[str, Any]) -> None:
        nonlocal length
        for line in message.get("body", b"").splitlines():
            if line.startswith(b'data: {"type":"TEXT_MESSAGE_CONTENT"'):
                length += len(json.loads(line[6:])["delta"])

    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "scheme": "http",
        "method": "POST",
        "root_path": "",
        "path": "/agents/agent",
        "raw_path": b"/agents/agent",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json"), (b"host", b"127.0.0.1")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
    await app(scope, receive, send)
    return length


def _timed(streams: int, expected: int, read: Callable[[], Awaitable[int]]) -> float:
    async def measure() -> float:
        with no_collection():
            began = time.process_time()
            for _ in range(streams):
                if (length := await read()) != expected:
                    raise BenchmarkBroken(f"{length} characters were told, not {expected}")
            return time.process_time() - began

    return asyncio.run(measure())


def frameworks(setup: Setup) -> list[Row]:
    """CPU of a stream of ready tokens from an agent in process, for each that is installed."""
    tokens, streams = setup.plan.events, setup.plan.streams
    expected = tokens * len(_TOKEN)
    rows = []
    for name, make in FRAMEWORKS.items():
        if find_spec(name) is None:
            continue
        contender = make(tokens)
        bridge = Bridge("memory:")
        bridge.add("agent", contender.agent)
        app = bridge.app(anonymous=True)

        async def bridged(app: Any = app) -> int:
            return await _post(app, json.dumps(run_input(new_thread())).encode())

        samples = interleave(
            {
                "bridge": partial(_timed, streams, expected, bridged),
                "alone": partial(_timed, streams, expected, contender.alone),
            },
            setup.plan.rounds,
        )
        rows.append(
            ratio(
                f"frameworks/{name}",
                f"a run of {tokens} ready tokens, CPU: {name} in the bridge / its own stream",
                samples,
                "bridge",
                "alone",
                at_most=1.15,
            )
        )
    return rows
