"""Hostile neighbours: one scope does its worst, and what another one notices of it is measured.

The server is `agui-bridge serve` with the default settings. A second one, which nobody attacks, is
asked at the same moments: what it takes is the machine's doing.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx

from benchmarks.contenders.ports import free_port
from benchmarks.contenders.process import ROOT, environment
from loadtest.client import send
from loadtest.hostile_inputs import HOSTILE_KINDS
from loadtest.pressure import Result
from loadtest.replica import Replica
from loadtest.slow_agent import QUIET_SCOPE

DELAY: Final = 1.0
"""Seconds that another scope's `/healthz` may take."""

LEASES: Final = (30.0, 3.0)
"""The default, and one that is over soon."""

_HOSTILE_TOKEN: Final = "token-of-the-hostile-scope"
_QUIET_TOKEN: Final = "token-of-the-quiet-scope"
_PAUSE: Final = 0.05
_QUIET_THREADS: Final = 2
_PATIENCE: Final = 60.0


@dataclass
class Neighbours:
    """What one attack came to.

    Attributes:
        delays: seconds that each `/healthz` of the attacked server took.
        calm: the same of the server that nobody attacks.
        runs: how the quiet scope's runs ended.
        calm_runs: how the same runs ended on the server that nobody attacks.
        attacks: the answers to the hostile scope.
        memory: bytes that the server had in RAM at most.
        alive: whether it was there afterwards, and answered.
        lease: seconds that a run's lease holds without being renewed.
        stalled: the longest time in seconds by which a sleeper in the measuring process, which
            does next to nothing, woke up late.
    """

    delays: list[float] = field(default_factory=list)
    calm: list[float] = field(default_factory=list)
    runs: Counter[str] = field(default_factory=Counter)
    calm_runs: Counter[str] = field(default_factory=Counter)
    attacks: Counter[str] = field(default_factory=Counter)
    memory: int = 0
    alive: bool = False
    lease: float = LEASES[0]
    stalled: float = 0.0

    @property
    def typical(self) -> float:
        """The delay that half of the requests did not exceed."""
        return statistics.median(self.delays)

    @property
    def lost(self) -> Counter[str]:
        """The runs that did not end well, though they do where nobody attacks.

        A machine that stands still for a part of the lease is to blame, not the attack: a lease is
        renewed after a third of it and given up a tenth before it is over.
        """
        if set(self.calm_runs) - {"success"} or self.stalled > self.lease / 3:
            return Counter()
        return Counter({word: n for word, n in self.runs.items() if word != "success"})


def stand_neighbours(connections: int, seconds: float) -> Result:
    """Try every kind of input with each lease."""
    result = Result()
    for lease in LEASES:
        result.lines.append(f"hostile neighbours: {connections} connections, lease {lease:g} s")
        for kind in HOSTILE_KINDS:
            found = disturb(kind, connections, seconds, lease)
            _tell(result, f"{kind}, {connections} connections, lease {lease:g} s", kind, found)
    return result


def disturb(kind: str, connections: int, seconds: float, lease: float) -> Neighbours:
    """Attack a server for a while with one kind of input."""
    found = Neighbours(lease=lease)
    with tempfile.TemporaryDirectory(prefix="agui-load-") as directory:
        folder = Path(directory)
        with (
            _serving(folder, "attacked", lease) as attacked,
            _serving(folder, "calm", lease) as calm,
        ):
            asyncio.run(_measure(found, attacked, calm, kind, connections, seconds))
    return found


@contextmanager
def _serving(folder: Path, name: str, lease: float) -> Iterator[Replica]:
    configuration = folder / f"{name}.yaml"
    configuration.write_text(
        json.dumps(
            {
                "store": f"sqlite:///{folder / name}.db",
                "settings": {"lease_seconds": lease},
                "authentication": {
                    "bearer": [
                        {"token": _HOSTILE_TOKEN, "scope": "hostile", "actor": "mallory"},
                        {"token": _QUIET_TOKEN, "scope": QUIET_SCOPE, "actor": "ann"},
                    ]
                },
                "agents": {"target": {"function": "loadtest.slow_agent:target"}},
            }
        )
    )
    options = ["--log-level", "warning"]
    module = f"agui_bridge serve {configuration}"
    replica = Replica(module, free_port(), options, folder / f"{name}.log")
    try:
        replica.await_start()
        yield replica
    finally:
        replica.close()


async def _measure(
    found: Neighbours,
    attacked: Replica,
    calm: Replica,
    kind: str,
    connections: int,
    seconds: float,
) -> None:
    headers = {"Authorization": f"Bearer {_QUIET_TOKEN}"}
    async with httpx.AsyncClient(headers=headers, timeout=_PATIENCE) as http:
        until = time.monotonic() + seconds
        running = asyncio.gather(
            *(_run(found.runs, http, attacked.url, n, until) for n in range(_QUIET_THREADS)),
            *(_run(found.calm_runs, http, calm.url, n, until) for n in range(_QUIET_THREADS)),
        )
        # What runs when the attack begins must survive its beginning.
        await _answered(found.calm, calm.url)
        attack = _attack(attacked.url, kind, connections, seconds)
        probing = asyncio.gather(
            _probe(found.delays, attacked.url, attack), _probe(found.calm, calm.url, attack)
        )
        while attack.poll() is None:
            if attacked.alive:
                found.memory = max(found.memory, attacked.resident)
            began = time.monotonic()
            await asyncio.sleep(_PAUSE)
            found.stalled = max(found.stalled, time.monotonic() - began - _PAUSE)
        await probing
        assert attack.stdout is not None
        found.attacks.update(json.loads(attack.stdout.read()))
        attack.stdout.close()
        await running
        found.alive = attacked.alive and await _answered([], attacked.url)


def _attack(url: str, kind: str, connections: int, seconds: float) -> subprocess.Popen[str]:
    port = url.rpartition(":")[2]
    options = [port, _HOSTILE_TOKEN, kind, str(connections), str(seconds)]
    return subprocess.Popen(
        [sys.executable, "-m", "loadtest.attack", *options],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )


async def _run(ends: Counter[str], http: httpx.AsyncClient, url: str, n: int, until: float) -> None:
    """Run the quiet scope's agent again and again; all that is begun is seen to its end."""
    count = 0
    while time.monotonic() < until:
        count += 1
        answer = await send(http, url, f"quiet-{n}-{count}", "go")
        ends[answer.word] += 1


async def _probe(delays: list[float], url: str, attack: subprocess.Popen[str]) -> None:
    while attack.poll() is None:
        await _answered(delays, url)
        await asyncio.sleep(_PAUSE)


async def _answered(delays: list[float], url: str) -> bool:
    """Ask on a connection of its own, as a probe does; a refused one counts as a long delay."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(_PATIENCE):
            reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            answer = await reader.read()
            writer.close()
    except (OSError, TimeoutError):
        delays.append(_PATIENCE)
        return False
    delays.append(time.monotonic() - began)
    return b" 200 " in answer[:20]


def _tell(result: Result, name: str, kind: str, found: Neighbours) -> None:
    slowest, calm = max(found.delays, default=0.0), max(found.calm, default=0.0)
    ends = ", ".join(f"{word} {n}" for word, n in sorted(found.runs.items()))
    answers = ", ".join(f"{word} {n}" for word, n in sorted(found.attacks.items()))
    result.lines.append(
        f"  {kind}: /healthz {slowest:.2f} s at most (unattacked {calm:.2f} s), "
        f"memory {found.memory / 2**20:.0f} MB"
    )
    unattacked = ", ".join(f"{word} {n}" for word, n in sorted(found.calm_runs.items()))
    result.lines.append(
        f"    the neighbour's runs: {ends} (unattacked: {unattacked}); "
        f"answers to the attack: {answers}"
    )
    if found.lost:
        result.faults.append(f"{name}: the neighbour's runs ended so: {dict(found.lost)}")
    if not found.alive:
        result.faults.append(f"{name}: the server is gone, or answers no more")
    if not found.delays:
        result.faults.append(f"{name}: /healthz was not asked")
    elif slowest > DELAY + calm:
        result.faults.append(f"{name}: /healthz took {slowest:.2f} s")
