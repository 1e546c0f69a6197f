"""Whole streams over HTTP: ready events, a producer that suspends, time to the first event."""

from __future__ import annotations

import contextlib
import socket
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from benchmarks.contenders.process import Server
from benchmarks.measuring.load import Conversation, connect, drive, first_event, lines
from benchmarks.measuring.requests import request
from benchmarks.measuring.rounds import interleave
from benchmarks.measuring.setup import Setup
from benchmarks.rows import BenchmarkBroken, Row, ratio

_CONTENT = b'"TEXT_MESSAGE_CONTENT"'
_FINISHED = b'"RUN_FINISHED"'


@dataclass(frozen=True)
class _Contender:
    """An agent of a server."""

    server: Server
    agent: str


def _check(raw: bytes, count: int, contender: _Contender) -> None:
    found = raw.count(_CONTENT)
    if raw.count(_FINISHED) != 1 or found != count:
        raise BenchmarkBroken(
            f"{contender.server.name}, {contender.agent}: {found} of {count} events came"
        )


def _one_stream(body: bytes, count: int, contender: _Contender) -> Conversation:
    _check((yield body), count, contender)


def _streams(contender: _Contender, setup: Setup) -> float:
    """Seconds of a number of streams, one after the other."""
    bodies = [request(contender.agent) for _ in range(setup.plan.streams)]
    conversations = [_one_stream(body, setup.plan.events, contender) for body in bodies]
    if not setup.cpu:
        return drive(contender.server.port, conversations)
    before = contender.server.cpu_seconds
    drive(contender.server.port, conversations)
    return contender.server.cpu_seconds - before


def _compare(contenders: dict[str, _Contender], names: tuple[str, ...]) -> None:
    """Check that these contenders send the very same deltas."""
    seen: dict[str, list[bytes]] = {}

    def listen(name: str) -> Conversation:
        raw = yield request(contenders[name].agent)
        seen[name] = [line for line in lines(raw) if _CONTENT in line]

    for name in names:
        drive(contenders[name].server.port, [listen(name)])
    for name in names[1:]:
        if seen[name] != seen[names[0]]:
            raise BenchmarkBroken(f"{name} does not send the events of {names[0]}")


def _contenders(servers: Mapping[str, Server], kind: str) -> dict[str, _Contender]:
    contenders = {
        "ours": _Contender(servers["bridge"], kind),
        "text": _Contender(servers["bridge"], f"text-{kind}"),
        "function": _Contender(servers["bridge"], f"function-{kind}"),
        "starlette": _Contender(servers["starlette"], kind),
        "raw": _Contender(servers["raw"], kind),
    }
    if "pydantic-ai" in servers:
        contenders["pydantic-ai"] = _Contender(servers["pydantic-ai"], kind)
    return contenders


def _measure(contenders: dict[str, _Contender], setup: Setup) -> dict[str, tuple[float, ...]]:
    _compare(contenders, ("ours", "starlette", "raw"))
    measurements = {name: partial(_streams, one, setup) for name, one in contenders.items()}
    return interleave(measurements, setup.plan.rounds)


def ready(setup: Setup) -> list[Row]:
    """Events that are all there at once.

    The bytes of `raw` are made beforehand, so that its measure are our tokens, not our objects.
    """
    n, servers = setup.plan.events, setup.streaming()
    samples = _measure(_contenders(servers, "ready"), setup)
    add = partial(ratio, samples=samples)
    budget = partial(add, under="ours", over="starlette", at_least=5)
    rows = [
        budget("ready/starlette", f"{n} ready event objects: Starlette / ours"),
        add("ready/raw", f"{n} ready tokens: raw / ours", over="raw", under="text", at_least=1.5),
        add("ready/objects-raw", f"{n} ready event objects: raw / ours", over="raw", under="ours"),
        add(
            "ready/text-starlette",
            f"{n} ready tokens: Starlette / ours",
            over="starlette",
            under="text",
        ),
        add(
            "ready/function-starlette",
            f"{n} ready tokens of a function agent: Starlette / ours",
            over="starlette",
            under="function",
        ),
    ]
    if "pydantic-ai" in servers:
        what = f"{n} ready tokens: pydantic-ai / ours"
        rows.append(add("ready/pydantic-ai", what, over="pydantic-ai", under="text"))
    return rows + _ready_on_stores(setup)


def _ready_on_stores(setup: Setup) -> list[Row]:
    """Ready tokens on every store but the one in memory."""
    n, stores = setup.plan.events, setup.stores()
    contenders = {
        name: _Contender(server, "text-ready")
        for name, server in stores.items()
        if name not in ("memory", "pydantic-ai")
    }
    contenders["raw"] = _Contender(setup.streaming()["raw"], "ready")
    samples = interleave(
        {name: partial(_streams, one, setup) for name, one in contenders.items()},
        setup.plan.rounds,
    )
    return [
        ratio(
            f"ready/raw-{name.lower()}",
            f"{n} ready tokens, {name}: raw / ours",
            samples,
            "raw",
            name,
            at_least=1.2,
        )
        for name in contenders
        if name != "raw"
    ]


def suspending(setup: Setup) -> list[Row]:
    """A producer that gives way before every event, as a model's client does."""
    servers = setup.streaming()
    words = {"suspend": "suspends at", "wake": "awaits a future at"}
    rows = []
    for kind, verb in words.items():
        producer = f"a producer {verb} each event"
        contenders = _contenders(servers, kind)
        samples = _measure(contenders, setup)
        add = partial(ratio, samples=samples)
        official = partial(add, over="starlette")
        rows += [
            official(
                f"suspend/{kind}-starlette",
                f"{producer}: Starlette / ours",
                under="ours",
                at_least=4,
            ),
            official(
                f"suspend/{kind}-text-starlette",
                f"{producer}, tokens: Starlette / ours",
                under="text",
            ),
            official(
                f"suspend/{kind}-function-starlette",
                f"{producer}, a function agent: Starlette / ours",
                under="function",
            ),
            add(f"suspend/{kind}-raw", f"{producer}: raw / ours", over="raw", under="ours"),
        ]
        if "pydantic-ai" in servers:
            name, what = f"suspend/{kind}-pydantic-ai", f"{producer}, tokens: pydantic-ai / ours"
            rows.append(add(name, what, over="pydantic-ai", under="text"))
    return rows


def _first_events(connection: socket.socket, count: int) -> float:
    bodies = [request("one") for _ in range(count)]
    return statistics.median(first_event(connection, body) for body in bodies)


def first(setup: Setup) -> list[Row]:
    """From the request to the first event, on a connection that is open already."""
    plan, servers = setup.plan, setup.streaming()
    with contextlib.ExitStack() as stack:
        measurements: dict[str, Callable[[], float]] = {}
        for name, server in servers.items():
            connection = stack.enter_context(connect(server.port))
            measurements[name] = partial(_first_events, connection, plan.first_events)
        samples = interleave(measurements, plan.rounds)
    rows = [
        ratio(
            "first/raw",
            "time to the first event: ours / raw",
            samples,
            "bridge",
            "raw",
            at_most=2.5,
        ),
        ratio(
            "first/starlette",
            "time to the first event: ours / Starlette",
            samples,
            "bridge",
            "starlette",
        ),
        Row(
            "first/ms",
            "time to the first event: ours",
            "ms",
            tuple(1_000 * seconds for seconds in samples["bridge"]),
        ),
    ]
    if "pydantic-ai" in servers:
        rows.append(
            ratio(
                "first/pydantic-ai",
                "time to the first event: pydantic-ai / ours",
                samples,
                "pydantic-ai",
                "bridge",
            )
        )
    return rows
