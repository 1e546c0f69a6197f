"""examples/dbos: its process is killed at the approval, and the order is placed once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.commands import Command
from tests.support.ports import free_port
from tests.support.waiting import PATIENCE, wait_until

ROOT = Path(__file__).parents[2]


@contextmanager
def served(folder: Path, port: int) -> Iterator[Command]:
    """The example as a process."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = Command("examples.dbos", "--port", str(port), cwd=folder, env=env)
    try:
        wait_until(lambda: _is_ready(port), 2 * PATIENCE)
        yield process
    finally:
        process.close()


def _is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def run(port: int, **members: Any) -> list[dict[str, Any]]:
    """The events of a run."""
    body = {"threadId": "t", "runId": os.urandom(4).hex(), "messages": [], **members}
    url = f"http://127.0.0.1:{port}/agents/orders"
    stream = httpx.post(url, json=body, timeout=60, trust_env=False).text
    frames = (line.removeprefix("data: ") for line in stream.splitlines() if "data: " in line)
    return [json.loads(frame) for frame in frames]


def answer(asked: list[dict[str, Any]], payload: Any) -> list[dict[str, Any]]:
    """The member `resume` that answers the one question of a run."""
    (interrupt,) = asked[-1]["outcome"]["interrupts"]
    return [{"interruptId": interrupt["id"], "status": "resolved", "payload": payload}]


@pytest.mark.soak
def test_an_order_outlives_its_process_and_is_placed_once(tmp_path: Path) -> None:
    port = free_port()
    with served(tmp_path, port) as process:
        message = {"id": "m1", "role": "user", "content": "a shirt"}
        asked = run(port, messages=[message])
        asked = run(port, resume=answer(asked, "M"))
        process.kill()
    with served(tmp_path, port):
        told = run(port, resume=answer(asked, {"approved": True}))
    assert told[-1]["outcome"]["type"] == "success"
    assert (tmp_path / "orders.jsonl").read_text() == '{"item": "a shirt", "size": "M"}\n'
