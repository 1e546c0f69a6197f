"""The official A2A client from npm at a real bridge, over both of its transports."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.a2a.processes import Served
from tests.e2e.lines import HERE
from tests.support.effects import Effects

FOLDER: Final = HERE / "a2a"
COMPLETED, CANCELED, INPUT_REQUIRED = 3, 5, 6
"""The numbers of states in protocol buffers, which this client has."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the store and the effects of this file's bridge lie."""
    return tmp_path_factory.mktemp("a2a")


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    """A bridge for this file."""
    one = Served(folder)
    yield one
    one.kill()


def came_of(address: str, transport: str, text: str) -> dict[str, Any]:
    """What the client has seen."""
    done = subprocess.run(
        ["node", "client.mjs", address, transport, text],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("transport", ["JSONRPC", "HTTP+JSON"])
def test_it_is_asked_answers_comes_back_and_cancels(
    served: Served, folder: Path, transport: str
) -> None:
    came = came_of(f"{served.base}/a2a/ops", transport, transport)
    assert came["interface"] == transport
    assert came["asked"]["status"]["state"] == INPUT_REQUIRED
    kinds = [event["payload"]["$case"] for event in came["events"]]
    assert kinds[0] == "task" and set(kinds[1:]) <= {"artifactUpdate", "statusUpdate"}
    for task in (came["again"], came["done"]):
        assert task["status"]["state"] == COMPLETED
        texts = [part["content"]["value"] for each in task["artifacts"] for part in each["parts"]]
        assert texts == ["I will delete. ", f"rows of {transport} deleted"]
    assert came["cancelled"]["status"]["state"] == CANCELED
    assert came["refused"] == ["TaskNotCancelableError", "TaskNotFoundError"]
    assert Effects(folder / "effects").counted[f"deleted {transport}"] == 1
