"""docs/temporal.md: the example is its workflow, and runs as its README says."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agui_bridge.config import bridge_from
from tests.docs.pages import ROOT, Conversation, snippets_of
from tests.support.effects import lines_of
from tests.support.temporal_server import temporal_server

PAGE = ROOT / "docs" / "temporal.md"
EXAMPLE = ROOT / "examples" / "temporal"

pytestmark = pytest.mark.timeout(120)


def test_the_page_shows_the_workflow_of_the_example() -> None:
    ((_, shown),) = snippets_of(PAGE)
    assert shown in (EXAMPLE / "workflows.py").read_text()


@contextmanager
def worker(address: str, folder: Path) -> Iterator[None]:
    """The example's worker, for as long as it is needed."""
    command = [sys.executable, "-m", "examples.temporal", "--address", address]
    with (folder / "worker.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    try:
        yield
    finally:
        process.kill()
        process.wait(20)


@pytest.mark.soak
async def test_the_example_asks_and_orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with temporal_server(tmp_path) as server, worker(server.address, tmp_path):
        monkeypatch.setenv("TEMPORAL_ADDRESS", server.address)
        bridge = bridge_from(EXAMPLE / "bridge.yaml")
        async with bridge.lifespan():
            talk = Conversation(bridge, "orders")
            assert await talk.say("a shirt") == "I look for a shirt. "
            await talk.answer("M")
            assert talk.asks[0]["reason"] == "tool_call"
            await talk.answer({"approved": True})
            assert talk.events[-1]["result"] == "a shirt in M is ordered"
    assert lines_of(tmp_path / "orders.txt") == ["a shirt in M"]


@pytest.mark.soak
async def test_the_example_orders_nothing_unasked_and_tries_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    # What can't be written to fails: by default Temporal would try it for ever.
    monkeypatch.setenv("ORDERS", str(tmp_path))
    with temporal_server(tmp_path) as server, worker(server.address, tmp_path):
        monkeypatch.setenv("TEMPORAL_ADDRESS", server.address)
        bridge = bridge_from(EXAMPLE / "bridge.yaml")
        async with bridge.lifespan():
            talk = Conversation(bridge, "orders")
            await talk.say("a shirt")
            await talk.answer(None)
            assert talk.events[-1]["result"] == "nothing was ordered"
            await talk.say("a shirt")
            await talk.answer("M")
            await talk.answer({"approved": True})
            assert talk.events[-1].get("message") == "The workflow failed.", talk.events
