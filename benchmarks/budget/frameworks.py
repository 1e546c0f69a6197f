"""Frameworks in the bridge's process: what a token costs through their adapter.

Four ways of the same agent and the same tokens, each without a socket:

- alone: the framework's own stream, read to its end. Nothing is encoded, nobody served.
- by hand: that stream in a Starlette `StreamingResponse`, each token an event of the official
  encoder, as AG-UI's documentation shows. Nothing is stored, nobody can be asked.
- official: the AG-UI endpoint of the framework's makers, where there is one that is installed.
- bridge: the adapter and the whole engine, from the request's body to the bytes of the stream.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final

from ag_ui.core import (
    RunAgentInput,
    RunFinishedEvent,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)
from ag_ui.encoder import EventEncoder
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from agui_bridge import Bridge
from benchmarks.budget.framework_agents import FRAMEWORKS, TOKEN, Contender, is_installed
from benchmarks.contenders.producer import MESSAGE_ID
from benchmarks.measuring.requests import new_thread, run_input
from benchmarks.measuring.rounds import interleave, no_collection
from benchmarks.measuring.setup import Setup
from benchmarks.rows import BenchmarkBroken, Row, ratio

_CONTENT: Final = b'data: {"type":"TEXT_MESSAGE_CONTENT"'

Reading = Callable[[], Awaitable[list[str] | list[bytes]]]
"""One run: gives what came of it, texts or bytes, to be looked at once the clock stands still."""


async def _posted(app: ASGIApp) -> list[bytes]:
    """A run as a server hands it over, without a socket; gives what would go out."""
    body = json.dumps(run_input(new_thread())).encode()
    told: list[bytes] = []
    sent = False

    async def receive() -> dict[str, Any]:
        nonlocal sent
        if sent:
            await asyncio.Event().wait()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Mapping[str, Any]) -> None:
        told.append(message.get("body", b""))

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
    return told


async def _alone(contender: Contender) -> list[str]:
    return [text async for text in contender.alone()]


def _by_hand(contender: Contender) -> ASGIApp:
    """What its user would write who serves the framework's stream himself."""

    async def run(request: Request) -> StreamingResponse:
        body = RunAgentInput.model_validate_json(await request.body())
        encode = EventEncoder().encode

        async def stream() -> AsyncIterator[str]:
            yield encode(RunStartedEvent(thread_id=body.thread_id, run_id=body.run_id))
            yield encode(TextMessageStartEvent(message_id=MESSAGE_ID, role="assistant"))
            async for text in contender.alone():
                if text:
                    yield encode(TextMessageContentEvent(message_id=MESSAGE_ID, delta=text))
            yield encode(TextMessageEndEvent(message_id=MESSAGE_ID))
            yield encode(RunFinishedEvent(thread_id=body.thread_id, run_id=body.run_id))

        return StreamingResponse(stream(), media_type="text/event-stream")

    return Starlette(routes=[Route("/agents/agent", run, methods=["POST"])])


def _bridged(contender: Contender) -> ASGIApp:
    bridge = Bridge("memory:")
    bridge.add("agent", contender.agent)
    return bridge.app(anonymous=True)


def _readings(contender: Contender) -> dict[str, Reading]:
    """The ways, by name."""
    ways: dict[str, Reading] = {
        "alone": partial(_alone, contender),
        "by hand": partial(_posted, _by_hand(contender)),
        "bridge": partial(_posted, _bridged(contender)),
    }
    if contender.official is not None:
        ways["official"] = partial(_posted, contender.official)
    return ways


def _length(told: list[str] | list[bytes]) -> int:
    """The characters of text in what came of a run."""
    if told and isinstance(told[0], str):
        return sum(map(len, told))
    lines = b"".join(told).splitlines()  # type: ignore[arg-type]
    return sum(len(json.loads(ln[6:])["delta"]) for ln in lines if ln.startswith(_CONTENT))


def _timed(runs: int, tokens: int, read: Reading) -> float:
    """Seconds of CPU that a run takes."""

    async def measure() -> tuple[float, list[list[str] | list[bytes]]]:
        with no_collection():
            began = time.process_time()
            told = [await read() for _ in range(runs)]
            return time.process_time() - began, told

    taken, told = asyncio.run(measure())
    for length in map(_length, told):
        if length != tokens * len(TOKEN):
            raise BenchmarkBroken(f"{length} characters were told, not {tokens * len(TOKEN)}")
    return taken / runs


def frameworks(setup: Setup) -> list[Row]:
    """CPU of ready tokens from an agent in process, for each framework that is installed.

    `frameworks/NAME` is the cost of a further token: a run of many less a run of one, through the
    bridge over alone. `NAME-run` is that of the whole run, its request, admission and commits
    included; `NAME-by-hand` and `NAME-official` are the bridge's run over theirs.
    """
    tokens, runs = setup.plan.events, setup.plan.streams
    rows = []
    for name, make in FRAMEWORKS.items():
        if not is_installed(name):
            continue
        ways = _readings(make(tokens))
        short = _readings(make(1))
        contenders = {way: partial(_timed, runs, tokens, read) for way, read in ways.items()}
        contenders |= {
            f"short {way}": partial(_timed, runs, 1, short[way]) for way in ("bridge", "alone")
        }
        samples = interleave(contenders, setup.plan.rounds)
        further = {
            way: [
                (long - one) / (tokens - 1)
                for long, one in zip(samples[way], samples[f"short {way}"], strict=True)
            ]
            for way in ("bridge", "alone")
        }
        rows.append(
            ratio(
                f"frameworks/{name}",
                f"a further ready token, CPU: {name} in the bridge / its own stream, not encoded",
                further,
                "bridge",
                "alone",
                at_most=1.15,
            )
        )
        for row, way, told in (
            ("run", "alone", "its own stream, not encoded"),
            ("by-hand", "by hand", "served by hand with the official encoder"),
            ("official", "official", "its official AG-UI endpoint"),
        ):
            if way in ways:
                what = f"a run of {tokens} ready tokens, CPU: {name} in the bridge / {told}"
                rows.append(ratio(f"frameworks/{name}-{row}", what, samples, "bridge", way))
    return rows
