"""The example as real processes on one store: a restart, a race, and a kill within the tool."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.ports import free_port
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(180)

SOAK = (pytest.mark.soak, pytest.mark.timeout(1200))

ROOT = Path(__file__).parents[3]
LEASE = 3.0
YES = {"approved": True}
Event = dict[str, Any]


@dataclass(frozen=True)
class Server:
    """One process of the example."""

    url: str
    process: subprocess.Popen[bytes]
    effects: Path

    def send(
        self, text: str | None = None, *, answers: list[Event] | None = None, thread: str = "t"
    ) -> list[Event]:
        """What a run on a thread tells; less than a whole stream when the process dies."""
        body: Event = {"threadId": thread, "runId": "r", "protocolVersion": "1.0", "messages": []}
        if text is not None:
            body["messages"] = [{"id": os.urandom(6).hex(), "role": "user", "content": text}]
        if answers is not None:
            body["resume"] = [
                {"interruptId": ask["id"], "status": "resolved", "payload": YES} for ask in answers
            ]
        events = []
        try:
            with httpx.stream(
                "POST", f"{self.url}/agents/mailer", json=body, timeout=60
            ) as response:
                for line in response.iter_lines():
                    if line.startswith("data: "):
                        events.append(json.loads(line.removeprefix("data: ")))
        except httpx.TransportError:
            pass
        return events

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    @property
    def done(self) -> list[str]:
        """Who was sent something, each time."""
        if not self.effects.exists():
            return []
        return [json.loads(line)["to"] for line in self.effects.read_text().splitlines()]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Server]]:
    running: list[subprocess.Popen[bytes]] = []

    def started() -> Server:
        port = free_port()
        effects = tmp_path / "effects.jsonl"
        command = [sys.executable, "-m", "examples.langgraph", "--port", str(port)]
        command += ["--effects", str(effects), "--store", f"sqlite:///{tmp_path}/mails.db"]
        command += ["--checkpoints", str(tmp_path / "checkpoints.db"), "--lease", str(LEASE)]
        running.append(subprocess.Popen(command, cwd=ROOT))
        url = f"http://127.0.0.1:{port}"

        def ready() -> bool:
            try:
                return httpx.get(f"{url}/readyz").status_code == 200
            except httpx.TransportError:
                return False

        wait_until(ready)
        return Server(url, running[-1], effects)

    yield started
    for process in running:
        process.kill()
        process.wait(30)


def asks_of(events: list[Event]) -> list[Event]:
    return list(events[-1]["outcome"]["interrupts"])


def test_a_pause_outlives_its_process_and_two_others_execute_its_answer_once(
    start: Callable[[], Server],
) -> None:
    before = start()
    asks = asks_of(before.send("send bob"))
    before.kill()
    one, other = start(), start()
    with ThreadPoolExecutor(2) as pool:
        told = [pool.submit(server.send, answers=asks) for server in (one, other)]
        ends = [each.result(60)[-1] for each in told]
    assert one.done == ["bob-0@example.com"]
    assert "RUN_FINISHED" in {end["type"] for end in ends}
    assert other.send("hello")[-1]["outcome"]["type"] == "success"


@pytest.mark.parametrize("rounds", [3, pytest.param(500, marks=SOAK)])
def test_answers_that_race_to_two_processes_are_executed_once(
    rounds: int, start: Callable[[], Server]
) -> None:
    servers = (start(), start())
    with ThreadPoolExecutor(2) as pool:
        for number in range(rounds):
            thread = f"race-{number}"
            asks = asks_of(servers[number % 2].send(f"send {number}", thread=thread))
            told = [pool.submit(s.send, answers=asks, thread=thread) for s in servers]
            ends = [each.result(60)[-1]["type"] for each in told]
            assert "RUN_FINISHED" in ends
    assert servers[0].done == [f"{number}-0@example.com" for number in range(rounds)]


@pytest.mark.soak
def test_a_process_killed_in_the_approved_tool_is_never_followed_by_a_second_execution(
    start: Callable[[], Server],
) -> None:
    first, second = start(), start()
    asks = asks_of(first.send("crash bob"))
    assert first.send(answers=asks)[-1:] != [{"type": "RUN_FINISHED"}]
    first.process.wait(30)
    again = second.send(answers=asks)[-1]
    assert (again["type"], again["code"]) == ("RUN_ERROR", "RUN_INDETERMINATE")
    assert second.send("hello")[-1]["outcome"]["type"] == "success"
    assert second.done == ["bob-0@example.com"]
    shown = httpx.get(f"{second.url}/agents/mailer/threads/t").json()["messages"]
    (result,) = [message["content"] for message in shown if message["role"] == "tool"]
    assert "whether this tool call was executed is unknown" in result
