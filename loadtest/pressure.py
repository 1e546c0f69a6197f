"""Replicas on one store, 200 threads at once, for a while; then everything is counted."""

from __future__ import annotations

import asyncio
import json
import ssl
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx

from benchmarks.contenders.ports import free_port
from loadtest.replica import Replica
from loadtest.rounds import Load

THREADS = 200
ROUNDS_OF_A_THREAD = 3
"""Then another thread takes its place: what a run loads should not grow with the time."""
GROWTH = 0.10
"""How much of its memory a replica may gain in the second half."""


class Result:
    """What came of it.

    Attributes:
        lines: the report.
        faults: what should not have been; empty when all is well.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.faults: list[str] = []


def press(
    name: str,
    store: str,
    seconds: float,
    told: Callable[[str], None] = lambda text: None,
    *,
    replicas: int = 2,
) -> Result:
    """Put a store's replicas under load; `told` is told how far it is."""
    result = Result()
    with tempfile.TemporaryDirectory(prefix="agui-load-") as directory:
        folder = Path(directory)
        effects = folder / "effects.jsonl"
        running = [
            Replica(
                "examples.approval_target",
                free_port(),
                ["--effects", str(effects), "--store", store],
                folder / f"{number}.log",
            )
            for number in range(1, replicas + 1)
        ]
        try:
            for replica in running:
                replica.await_start()
            load, took = asyncio.run(_run(running, seconds, lambda text: told(f"{name}: {text}")))
        finally:
            for replica in running:
                replica.close()
        if load.unavailable:
            logged = [line for r in running for line in r.log.splitlines() if "store" in line]
            result.lines.append(f"  the store was unavailable {load.unavailable} times")
            result.lines += [
                f"    {line[:200]} ({n}×)" for line, n in Counter(logged).most_common(3)
            ]
        lines = effects.read_text().splitlines() if effects.exists() else []
        _count(result, load, Counter(json.loads(line)["to"] for line in lines))
        _report(result, name, load, running, took, len(lines))
    return result


async def _run(
    replicas: list[Replica], seconds: float, told: Callable[[str], None]
) -> tuple[Load, float]:
    began = time.monotonic()
    # Below the servers' own five seconds: a connection that they just close loses an input.
    limits = httpx.Limits(keepalive_expiry=2.0)
    tls = ssl.create_default_context()
    total = Load(tuple(replica.url for replica in replicas))

    async def live(number: int) -> None:
        threads = rounds = 0
        # A client each: a pool of hundreds of connections takes more time than the servers.
        async with httpx.AsyncClient(verify=tls, limits=limits, timeout=120) as http:
            while time.monotonic() < began + seconds:
                rounds += 1
                useful = await total.round(http, f"load-{number}-{threads}", rounds)
                if not useful or rounds % ROUNDS_OF_A_THREAD == 0:
                    threads += 1

    async def watch() -> None:
        while True:
            for replica in replicas:
                replica.memory.samples.append((time.monotonic() - began, replica.resident))
            inputs = sum(total.answers.values())
            told(f"{time.monotonic() - began:.0f} of {seconds:.0f} s, {inputs} inputs …")
            await asyncio.sleep(0.5)

    watching = asyncio.ensure_future(watch())
    await asyncio.gather(*(live(number) for number in range(THREADS)))
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    return total, time.monotonic() - began


def _count(result: Result, load: Load, sent: Counter[str]) -> None:
    twice = [to for to, times in sent.items() if times > 1]
    missing = [to for to in load.must if to not in sent]
    strange = [to for to in sent if to not in load.must | load.may]
    for what, found in (
        ("executed twice", twice),
        ("approved and told as done, but not executed", missing),
        ("executed without approval", strange),
        ("answers that nothing explains", load.wrong),
    ):
        if found:
            shown = ", ".join(f"{one} ({times}×)" for one, times in Counter(found).most_common(5))
            result.faults.append(f"{len(found)} {what}: {shown}")


def _report(
    result: Result, name: str, load: Load, replicas: list[Replica], took: float, sent: int
) -> None:
    asked = sum(n for (kind, _), n in load.answers.items() if kind == "ask")
    inputs = sum(load.answers.values())
    result.lines.append(
        f"{name}: {took:.0f} s, {len(replicas)} replicas, {THREADS} threads at once, "
        f"{asked} pauses, {inputs} inputs ({inputs / took:.0f} per s), {sent} executions"
    )
    for kind in dict.fromkeys(kind for kind, _ in load.answers):
        words = {word: n for (of, word), n in load.answers.items() if of == kind}
        told = ", ".join(f"{word} {n}" for word, n in sorted(words.items()))
        result.lines.append(f"  {kind}: {told}")
    for number, replica in enumerate(replicas, 1):
        points = replica.memory.settled
        if len(points) < 2:
            continue
        first, last = points[0][1], points[-1][1]
        result.lines.append(
            f"  memory of replica {number}: {first / 2**20:.1f} MB at half time, "
            f"{last / 2**20:.1f} MB at the end, {replica.memory.slope / 1024:+.1f} KB/s"
        )
        if last > first * (1 + GROWTH):
            result.faults.append(f"the memory of replica {number} grows")
