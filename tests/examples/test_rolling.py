"""Replicas that are restarted in turn behind the deployment example's nginx, under load."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.examples.nginx import behind_nginx
from tests.support.target import Target, approve

CLIENTS: Final = 6
PATIENCE: Final = 15.0
"""Seconds for which a client tries one step again before it gives up."""

pytestmark = [pytest.mark.soak, pytest.mark.timeout(480)]


@dataclass
class Load:
    """Clients that send messages and approve what is asked, until they are told to stop.

    Attributes:
        http: reaches the replicas through the proxy.
        statuses: how often each HTTP status came.
        approved: names of whom an approved mail was sent to, as its client was told.
        given_up: what was still refused when a client lost its patience.
    """

    http: httpx.AsyncClient
    statuses: Counter[int] = field(default_factory=Counter)
    approved: list[str] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)
    over: bool = False

    async def client(self, name: str) -> None:
        """One thread after the other, each with a question and its answer."""
        for number in itertools.count():
            if self.over:
                return
            to = f"{name}x{number}"
            asked = await self.step(to, "send " + to)
            if asked is None:
                continue
            entry = approve(asked["outcome"]["interrupts"][0])
            done = await self.step(to, None, resume=[entry])
            if done is not None:
                assert done["outcome"] == {"type": "success"}, done
                self.approved.append(f"{to}-0@example.com")

    async def goes_on(self) -> None:
        """Wait until each client could have been answered."""
        wanted = len(self.approved) + CLIENTS
        async with asyncio.timeout(4 * PATIENCE):
            while len(self.approved) < wanted:
                await asyncio.sleep(0.02)

    async def step(self, thread: str, text: str | None, **more: Any) -> dict[str, Any] | None:
        """Send one input, again while the server says that it took nothing; its last event."""
        deadline = time.monotonic() + PATIENCE
        said = [] if text is None else [{"id": f"u-{thread}", "role": "user", "content": text}]
        body = {"threadId": thread, "runId": "r", "protocolVersion": "1.0", "messages": said}
        while True:
            answer = await self.http.post("/agents/target", json={**body, **more})
            self.statuses[answer.status_code] += 1
            if answer.status_code == 200:
                last: dict[str, Any] = json.loads(answer.text.strip().rpartition("data: ")[2])
                return last
            if answer.status_code != 503 or time.monotonic() > deadline:
                self.given_up.append(f"{answer.status_code} {answer.text:.200}")
                return None
            await asyncio.sleep(0.05)


@asynccontextmanager
async def pressed(base: str) -> AsyncIterator[Load]:
    """Clients that are at work for as long as this is open."""
    limits = httpx.Limits(max_connections=CLIENTS)
    async with httpx.AsyncClient(base_url=base, timeout=30, limits=limits) as http:
        load = Load(http)
        async with asyncio.TaskGroup() as group:
            for number in range(CLIENTS):
                group.create_task(load.client(f"c{number}"))
            yield load
            load.over = True


@pytest.mark.parametrize("rolls", [1, pytest.param(10, marks=pytest.mark.soak)])
async def test_a_rolling_restart_is_not_noticed(tmp_path: Path, rolls: int) -> None:
    replicas = [Target(tmp_path), Target(tmp_path)]
    try:
        with behind_nginx(tmp_path, [replica.port for replica in replicas]) as base:
            async with pressed(base) as load:
                for _, place in itertools.product(range(rolls), (0, 1)):
                    await load.goes_on()
                    replicas[place] = await asyncio.to_thread(restarted, tmp_path, replicas[place])
                await load.goes_on()
    finally:
        for replica in replicas:
            replica.close()

    told = (tmp_path / "nginx.log").read_text().splitlines()
    # What one replica refused the next one got.
    lost = [line for line in told if "Connection refused" not in line]
    seen = f"{dict(load.statuses)}; {lost[-3:]}"
    assert load.given_up == [], seen
    assert load.statuses[502] == 0, seen
    sent = Counter(effect["to"] for effect in replicas[0].effects)
    assert sent == Counter(load.approved)


def restarted(folder: Path, replica: Target) -> Target:
    """The same replica after a graceful end, ready again."""
    replica.end()
    replica.close()
    return Target(folder, port=replica.port)
