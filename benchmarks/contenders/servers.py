"""The contenders as servers, all under the same uvicorn.

    python -m benchmarks.contenders.servers CONTENDER --port 8799 [--store URL] [--events N]

Each answers `POST /agents/KIND` (see `producer.KINDS`) with the same events. `bridge` besides has
`text-KIND` and `function-KIND`, whose agents yield plain text, and `ask`, which pauses; `sealing`
is `bridge` with the audit chain. `bare` and `chatting` have nothing but `ask`: see
`benchmarks.contenders.bare` and `benchmarks.contenders.scripted_chat`.
"""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any

from ag_ui.core import (
    BaseEvent,
    RunAgentInput,
    RunFinishedEvent,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallResultEvent,
)
from ag_ui.encoder import EventEncoder
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from agui_bridge import Bridge, FunctionAdapter, FunctionRun, Settings
from agui_bridge.adapters import Adapter, AdapterCapabilities, Ask, Pause, Run, RunItem
from agui_bridge.protocol.threads.records import ToolCall
from benchmarks.contenders.detecting_agents import add_detecting
from benchmarks.contenders.producer import KINDS, MESSAGE_ID, produce
from benchmarks.contenders.uvicorn_options import serve

_MOST_RUNS = 20_000
"""More than any scenario has open at once; the default protects scopes from each other."""


async def _events(kind: str, count: int) -> AsyncIterator[BaseEvent]:
    """One message, an official event object made for each token, as adapters do."""
    yield TextMessageStartEvent(message_id=MESSAGE_ID, role="assistant")
    async for token in produce(kind, count):
        yield TextMessageContentEvent(message_id=MESSAGE_ID, delta=token)
    yield TextMessageEndEvent(message_id=MESSAGE_ID)


class _Producing(Adapter):
    capabilities = AdapterCapabilities(stop=True)

    def __init__(self, source: Callable[[], AsyncIterator[RunItem]]) -> None:
        self._source = source

    def run(self, run: Run) -> AsyncIterator[RunItem]:
        return self._source()

    async def aclose(self) -> None:
        pass


class _Asking(Adapter):
    """Asks for one approval, and tells the result of the call once it has it."""

    capabilities = AdapterCapabilities(edit=True, stop=True)

    async def run(self, run: Run) -> AsyncIterator[RunItem]:
        if run.resume is None:
            call = ToolCall(f"call-{run.mint()}", "delete_rows", {"table": "users", "limit": 10})
            yield "May I? "
            yield Pause([Ask("delete", "tool_call", "Delete 10 rows?", call)], {"call": call.id})
            return
        continuation: Any = run.resume.continuation
        yield ToolCallResultEvent(
            message_id=run.mint(), tool_call_id=continuation["call"], content="10 rows deleted"
        )
        yield "Done."

    async def aclose(self) -> None:
        pass


def bridge(store: str, count: int, audit_keys: Sequence[str] = ()) -> ASGIApp:
    """agui-bridge."""
    settings = Settings(max_runs_per_scope=_MOST_RUNS)
    bridge = Bridge(store, settings=settings, audit_keys=audit_keys)
    for kind in KINDS:
        bridge.add(kind, _Producing(partial(_events, kind, count)))
        bridge.add(f"text-{kind}", _Producing(partial(produce, kind, count)))

        @bridge.agent(f"function-{kind}")
        async def function(run: FunctionRun, kind: str = kind) -> AsyncIterator[str]:
            async for token in produce(kind, count):
                yield token

    bridge.add("ask", _Asking())
    add_detecting(bridge)
    add_stepping(bridge)
    return bridge.app(anonymous=True)


STEPS = 50
"""Steps of one run of the agents that take steps."""


def add_stepping(bridge: Bridge) -> None:
    """Add agents that take steps, with checkpoints and without, and one that sleeps."""

    async def stepping(run: FunctionRun) -> str:
        for number in range(STEPS):
            await run.step("step", _nothing, number)
        return "done"

    async def sleeping(run: FunctionRun) -> str:
        return await run.sleep(86_400)

    bridge.add("steps-pause", FunctionAdapter(stepping))
    bridge.add("steps-step", FunctionAdapter(stepping), checkpoint="step")
    bridge.add("sleep", FunctionAdapter(sleeping))


async def _nothing(number: int) -> int:
    return number


def sealing(store: str, count: int) -> ASGIApp:
    """agui-bridge with the audit chain."""
    return bridge(store, count, ["a-key-of-the-benchmarks-0123456789"])


def starlette(store: str, count: int) -> ASGIApp:
    """What AG-UI's documentation shows: a StreamingResponse over the official encoder."""

    async def run(request: Request) -> StreamingResponse:
        body = RunAgentInput.model_validate_json(await request.body())
        encoder = EventEncoder()

        async def stream() -> AsyncIterator[str]:
            yield encoder.encode(RunStartedEvent(thread_id=body.thread_id, run_id=body.run_id))
            async for event in _events(request.path_params["kind"], count):
                yield encoder.encode(event)
            yield encoder.encode(RunFinishedEvent(thread_id=body.thread_id, run_id=body.run_id))

        return StreamingResponse(stream(), media_type=encoder.get_content_type())

    return Starlette(routes=[Route("/agents/{kind}", run, methods=["POST"])])


def raw(store: str, count: int) -> ASGIApp:
    """Nothing but uvicorn: bytes that were made before, one `send` for each event."""
    encode = EventEncoder().encode
    first = encode(RunStartedEvent(thread_id="t", run_id="r")).encode()
    start = encode(TextMessageStartEvent(message_id=MESSAGE_ID, role="assistant")).encode()
    end = encode(TextMessageEndEvent(message_id=MESSAGE_ID)).encode()
    last = encode(RunFinishedEvent(thread_id="t", run_id="r")).encode()
    made: dict[str, bytes] = {}
    headers = [(b"content-type", b"text/event-stream; charset=utf-8")]

    def content(token: str) -> bytes:
        if token not in made:
            event = TextMessageContentEvent(message_id=MESSAGE_ID, delta=token)
            made[token] = encode(event).encode()
        return made[token]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise NotImplementedError(scope["type"])
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for chunk in (first, start):
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        async for token in produce(scope["path"].rpartition("/")[2], count):
            await send({"type": "http.response.body", "body": content(token), "more_body": True})
        for chunk in (end, last):
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return app


def _bare(store: str, count: int) -> ASGIApp:
    # Imported here: orjson is a dependency of no other server.
    from benchmarks.contenders.bare import bare

    return bare(store, count)


def _chatting(store: str, count: int) -> ASGIApp:
    # Imported here: no other server needs the model's client.
    from benchmarks.contenders.scripted_chat import chatting

    return chatting(store, count)


def main() -> None:
    """Serve until killed."""
    contenders = {
        "bridge": bridge,
        "sealing": sealing,
        "starlette": starlette,
        "raw": raw,
        "bare": _bare,
        "chatting": _chatting,
    }
    parser = argparse.ArgumentParser(description="A contender of the benchmarks.")
    parser.add_argument("contender", choices=contenders)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--store", default="memory:")
    parser.add_argument("--events", type=int, default=1_000)
    options = parser.parse_args()
    serve(contenders[options.contender](options.store, options.events), options.port)


if __name__ == "__main__":
    main()
