"""A bridge that Prometheus would scrape, started as docs/prometheus.md says, and its metrics."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import httpx

from tests.cli.processes import environment, serving
from tests.docs.pages import ROOT, snippets_of
from tests.support.ports import free_port

__all__ = ["Bridge", "is_told", "lose_run", "monitored", "names_of", "write_agents"]

PAGE: Final = ROOT / "docs" / "prometheus.md"
PATIENCE: Final = 30.0
AGENTS: Final = """
import asyncio, os

async def send(to: str) -> str:
    return "sent"

async def charge(to: str) -> str:
    os._exit(1)

async def mail(run):
    approval = await run.approve("send", {"to": run.text}, fn=send)
    if approval.approved:
        yield await run.tool(approval, send)
    else:
        yield "Nothing was sent."

async def pay(run):
    approval = await run.approve("charge", {"to": run.text}, fn=charge)
    yield await run.tool(approval, charge)

async def slow(run):
    for number in range(2000):
        yield f"{number} "
        await asyncio.sleep(0.02)
"""
FILE: Final = """
store: sqlite:///monitored.db
settings: {lease_seconds: 6}
agents:
  mail: {function: "agents:mail"}
  pay: {function: "agents:pay"}
  slow: {function: "agents:slow"}
"""
_COMMANDS: Final = "\n".join(code for _, code in snippets_of(PAGE, "sh")[1:])


class Bridge:
    """A client of it.

    Attributes:
        http: reaches the bridge.
        metrics: where Prometheus would scrape.
    """

    def __init__(self, url: str, metrics: str = "") -> None:
        self.http = httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False)
        self.metrics = metrics

    def __enter__(self) -> Bridge:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def send(self, agent: str, thread: str, **members: Any) -> str:
        """Run an agent; gives the stream as text, empty where it broke off."""
        body = {"threadId": thread, "runId": "r", "protocolVersion": "1.0", "messages": []}
        with contextlib.suppress(httpx.TransportError):
            return self.http.post(f"/agents/{agent}", json={**body, **members}).text
        return ""

    def ask(self, agent: str, thread: str) -> dict[str, Any]:
        """Have an agent ask; gives the entry that approves."""
        said = {"id": f"u-{thread}", "role": "user", "content": thread}
        told = self.send(agent, thread, messages=[said])
        found = re.search(r'"interrupts":\[\{"id":"([^"]+)"', told)
        assert found is not None, told
        return {"interruptId": found[1], "status": "resolved", "payload": {"approved": True}}

    def scrape(self) -> str:
        """What Prometheus would read now."""
        return httpx.get(self.metrics, timeout=PATIENCE, trust_env=False).text


def names_of(scraped: str) -> set[str]:
    """The names of the series in a scrape."""
    return set(re.findall(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{| )", scraped, re.MULTILINE))


def is_told(look: Callable[[], bool]) -> None:
    """Wait until something can be seen."""
    deadline = time.monotonic() + PATIENCE
    while not look():
        assert time.monotonic() < deadline, "it can't be seen"
        time.sleep(0.05)


def write_agents(folder: Path) -> None:
    """Leave the agents and their file in a folder."""
    (folder / "agents.py").write_text(AGENTS)
    (folder / "bridge.yaml").write_text(FILE)


def lose_run(folder: Path) -> None:
    """Leave a run whose process ended within its tool."""
    with (
        serving(folder, "bridge.yaml", "--port", "0") as server,
        Bridge(server.url) as bridge,
    ):
        bridge.send("pay", "invoice-7", resume=[bridge.ask("pay", "invoice-7")])


@contextlib.contextmanager
def monitored(folder: Path) -> Iterator[Bridge]:
    """Run the page's commands on free ports; they find the run that was lost."""
    write_agents(folder)
    lose_run(folder)
    port, metrics = free_port(), free_port()
    commands = re.sub(r"_PORT=\d+", f"_PORT={metrics}", _COMMANDS)
    # The server takes the shell's place, as it would in a container.
    commands = commands.replace(
        "opentelemetry-instrument agui-bridge", "exec opentelemetry-instrument agui-bridge"
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", commands],
            cwd=folder,
            env=environment(PATH=path, AGUI_BRIDGE_PORT=str(port)),
            stdout=log,
            stderr=log,
        )
    bridge = Bridge(f"http://127.0.0.1:{port}", f"http://127.0.0.1:{metrics}/metrics")
    try:
        deadline = time.monotonic() + PATIENCE
        while not _ready(bridge):
            told = (folder / "log").read_text()
            assert process.poll() is None and time.monotonic() < deadline, told
            time.sleep(0.05)
        yield bridge
    finally:
        process.kill()
        process.wait(PATIENCE)
        bridge.http.close()


def _ready(bridge: Bridge) -> bool:
    with contextlib.suppress(httpx.TransportError):
        return bridge.http.get("/readyz").status_code == 200
    return False
