"""One bridge in several event loops, one after the other: scripts, notebooks, Celery, tests."""

import asyncio
import contextlib
import gc
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from agui_bridge import Bridge, FunctionRun, KeywordAdapter
from agui_bridge.adapters import Adapter
from agui_bridge.agents.chat.agent import ChatAgent
from agui_bridge.channels.webhooks import HttpSender
from agui_bridge.stores.base import Store
from agui_bridge.stores.memory import MemoryStore
from agui_bridge.stores.postgres.store import PostgresStore
from agui_bridge.stores.redis.store import RedisStore
from agui_bridge.stores.sqlite.store import SqliteStore
from agui_bridge_a2a import A2AAdapter
from agui_bridge_agui import AguiAdapter
from agui_bridge_mastra import MastraAdapter
from agui_bridge_nexau import NexauAdapter
from agui_bridge_superagent import SuperAgentAdapter
from tests.adapters.nexau import simulator
from tests.support.postgres import emptied
from tests.support.redis_server import cluster_url, redis_url
from tests.support.server import run_input, serve

pytestmark = pytest.mark.timeout(120)

Work = Callable[[], Awaitable[Any]]

# --- loops ---


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """What a test leaves behind is collected in it, and not charged to the next one."""
    yield
    gc.collect()


def by_asyncio_run(*works: Work) -> list[Any]:
    async def run(work: Work) -> Any:
        return await work()

    return [asyncio.run(run(work)) for work in works]


def by_loops_that_are_just_closed(*works: Work) -> list[Any]:
    """As older code and some frameworks do: nobody cancels what is left."""
    found = []
    for work in works:
        loop = asyncio.new_event_loop()
        loop.set_exception_handler(lambda *_: None)
        found.append(loop.run_until_complete(work()))
        loop.close()
    gc.collect()
    return found


def by_two_loops_that_stay(*works: Work) -> list[Any]:
    """Cell by cell in one, then in another, then in the first one again."""
    loops = [asyncio.new_event_loop() for _ in range(2)]
    found = [loops[n % 2].run_until_complete(work()) for n, work in enumerate(works)]
    for loop in loops:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
    return found


LEFT_BEHIND = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"
)
"""Whoever closes a loop with tasks in it leaves them, and their sockets, to be collected."""

LOOPS = (
    by_asyncio_run,
    pytest.param(by_loops_that_are_just_closed, marks=LEFT_BEHIND),
    by_two_loops_that_stay,
)

# --- stores ---

STORES: dict[str, Callable[[Path], str | Callable[[], Awaitable[Store]]]] = {
    "sqlite": lambda folder: f"sqlite:///{folder / 'agents.db'}",
    "postgres": lambda _: emptied(),
    "redis": redis_url,
    "redis-cluster": cluster_url,
    "memory that was given": lambda _: given_memory,
    "sqlite that was given": lambda folder: (
        lambda: SqliteStore.open(f"sqlite:///{folder / 'agents.db'}")
    ),
    "postgres that was given": lambda _: lambda: PostgresStore.open(emptied()),
    "redis that was given": lambda folder: lambda: RedisStore.open(redis_url(folder)),
}


async def given_memory() -> Store:
    return MemoryStore()


async def send(bridge: Bridge, **body: Any) -> dict[str, Any]:
    """Carry out a run as a request does; gives its last event."""
    app = httpx.ASGITransport(bridge.app(anonymous=True))
    async with httpx.AsyncClient(transport=app, base_url="http://127.0.0.1") as http:
        answer = await http.post("/agents/agent", json=run_input(**body), timeout=60)
    assert answer.status_code == 200, answer.text
    events = [json.loads(line[5:]) for line in answer.text.splitlines() if line.startswith("data:")]
    last: dict[str, Any] = events[-1]
    return last


@pytest.mark.parametrize("loops", LOOPS)
@pytest.mark.parametrize("store", STORES)
def test_a_conversation_goes_on_in_the_next_loop_on_every_store(
    store: str, loops: Callable[..., list[Any]], tmp_path: Path
) -> None:
    bridge, executed = Bridge(), list[str]()
    found = STORES[store](tmp_path)

    @bridge.agent("agent")
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        if run.text == "deploy":
            answer = await run.approve("deploy", {})
            await run.tool(answer, lambda: executed.append("deployed"))
        yield "Done."

    async def ask() -> Any:
        bridge.store = found if isinstance(found, str) else await found()
        return await send(bridge, text="deploy", run="r1")

    async def approve() -> Any:
        (asked,) = (await bridge.pending()).rows
        answers = {asked.row.interrupt.id: {"approved": True}}
        return await bridge.resume("agent", "t", answers)

    async def say() -> Any:
        return await send(bridge, text="hello", run="r3")

    async def end() -> Any:
        # Several at once, each of which opens the bridge.
        seen = await asyncio.gather(*(bridge.pending() for _ in range(5)))
        await bridge.aclose()
        return [len(one.rows) for one in seen]

    asked, *rest = loops(ask, approve, say, end)

    assert asked["outcome"]["type"] == "interrupt"
    assert [last["outcome"]["type"] for last in rest[:2]] == ["success"] * 2
    assert rest[2] == [0] * 5
    assert executed == ["deployed"]


# --- clients of other servers ---


@contextlib.contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """A server in a thread and loop of its own, which keeps connections open."""
    began, over = threading.Event(), threading.Event()
    base: list[str] = []

    async def run() -> None:
        async with serve(app) as url:
            base.append(url)
            began.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        assert began.wait(30)
        yield base[0]
    finally:
        over.set()
        thread.join()


def a_bridge(agent: Any) -> ASGIApp:
    remote = Bridge(telemetry=False)
    remote.add("agent", agent) if isinstance(agent, KeywordAdapter) else remote.agent("agent")(
        agent
    )
    return remote.app(anonymous=True)


async def hello(run: FunctionRun) -> AsyncIterator[str]:
    yield "Hello."


def streamed(path: str, *frames: Any) -> ASGIApp:
    """A server that always says the same."""

    async def answer(request: Request) -> StreamingResponse:
        await request.body()

        async def parts() -> AsyncIterator[str]:
            for frame in (*map(json.dumps, frames), "[DONE]"):
                yield f"data: {frame}\n\n"

        return StreamingResponse(parts(), media_type="text/event-stream")

    return Starlette(routes=[Route(path, answer, methods=["POST"])])


def mastra_server() -> ASGIApp:
    chunks = [
        {"type": "text-start", "payload": {"id": "m"}},
        {"type": "text-delta", "payload": {"id": "m", "text": "Hello."}},
        {"type": "text-end", "payload": {"id": "m"}},
        {"type": "finish", "payload": {"stepResult": {"reason": "stop"}, "output": {"usage": {}}}},
    ]
    whole = [{"runId": "theirs", "from": "AGENT", **chunk} for chunk in chunks]
    return streamed("/api/agents/agent/stream", *whole)


def model_server() -> ASGIApp:
    envelope = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    choices = [
        {"index": 0, "delta": {"role": "assistant", "content": "Hello."}, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": "stop"},
    ]
    frames = [{**envelope, "choices": [choice]} for choice in choices]
    return streamed("/v1/chat/completions", *frames)


def nexau_server() -> ASGIApp:
    server = simulator.Nexau()
    server.go.set()
    return server.app


def a2a_server() -> ASGIApp:
    async def card(request: Request) -> JSONResponse:
        return JSONResponse({"url": f"{request.base_url}rpc", "protocolVersion": "0.3.0"})

    async def said(_: Request) -> JSONResponse:
        parts = [{"kind": "text", "text": "Hello."}]
        return JSONResponse({"result": {"kind": "message", "role": "agent", "parts": parts}})

    paths = [Route("/.well-known/agent-card.json", card), Route("/rpc", said, methods=["POST"])]
    return Starlette(routes=paths)


REMOTE: dict[str, tuple[Callable[[], ASGIApp], Callable[[str], Adapter]]] = {
    "a2a": (a2a_server, A2AAdapter),
    "agui": (lambda: a_bridge(hello), lambda base: AguiAdapter(f"{base}/agents/agent")),
    "superagent": (
        lambda: a_bridge(KeywordAdapter(hello)),
        lambda base: SuperAgentAdapter(base, "agent"),
    ),
    "nexau": (nexau_server, lambda base: NexauAdapter(base)),
    "mastra": (mastra_server, lambda base: MastraAdapter(base, "agent")),
    "model": (model_server, lambda base: ChatAgent("m", base_url=f"{base}/v1")),
}


@pytest.mark.parametrize("loops", LOOPS)
@pytest.mark.parametrize("remote", REMOTE)
def test_the_clients_of_remote_agents_work_in_the_next_loop(
    remote: str, loops: Callable[..., list[Any]]
) -> None:
    server, adapter = REMOTE[remote]
    with served(server()) as base:
        bridge = Bridge()
        bridge.add("agent", adapter(base))
        works = [
            lambda number=number: send(bridge, text=f"hi {number}", thread=f"t{number}")
            for number in range(3)
        ]
        lasts = loops(*works, bridge.aclose)[:3]

    assert [(last["type"], last.get("message")) for last in lasts] == [("RUN_FINISHED", None)] * 3


@pytest.mark.parametrize("loops", LOOPS)
def test_what_channels_send_with_works_in_the_next_loop(loops: Callable[..., list[Any]]) -> None:
    with served(streamed("/hook")) as base:
        sender = HttpSender(10.0)
        works = [lambda: sender.post(f"{base}/hook", json={}) for _ in range(3)]
        answers = loops(*works, sender.aclose)[:3]

    assert [answer.status_code for answer in answers] == [200] * 3
