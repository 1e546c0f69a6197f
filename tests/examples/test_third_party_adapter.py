"""An adapter author's package, installed beside the bridge in an environment of their own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.processes import PATIENCE, ROOT
from tests.test_package import call, clean_environment, environment_with

EXAMPLE = ROOT / "examples" / "third_party_adapter"

pytestmark = [pytest.mark.soak, pytest.mark.timeout(400)]


@dataclass(frozen=True)
class Author:
    """An environment with both packages, and a copy of the example's folder to work in."""

    scripts: Path
    folder: Path

    def run(self, name: str, *arguments: str) -> str:
        """What a command prints; fails unless it exits with 0."""
        done = subprocess.run(
            [self.scripts / name, *arguments],
            cwd=self.folder,
            env=clean_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{name} {arguments}: {done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture(scope="module")
def author(tmp_path_factory: pytest.TempPathFactory) -> Author:
    """Both installed as their users install them."""
    base = tmp_path_factory.mktemp("author")
    folder = base / "agui-bridge-flows"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    call(sys.executable, "-m", "build", "-w", "--no-isolation", "--outdir", str(base), str(ROOT))
    call(sys.executable, "-m", "build", "-w", "--no-isolation", "--outdir", str(base), str(folder))
    ours, theirs = sorted(base.glob("*.whl"), key=lambda wheel: "flows" in wheel.name)
    packages = (f"{ours}[testing]", f"{theirs}[test]")
    # To compile modules that are never imported takes longer than all else.
    scripts = environment_with(base / "venv", "--no-compile", *packages)
    return Author(scripts, folder)


def test_the_command_lists_it_beside_ours(author: Author) -> None:
    rows = [line.split() for line in author.run("agui-bridge", "adapters").splitlines()]
    (row,) = [row for row in rows if "flows" in row]

    assert "agui-bridge-flows" in row


def test_its_own_tests_carry_every_check_out(author: Author) -> None:
    printed = author.run("python", "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider")

    # Its agents leave no work behind that asks later, and wait for nobody in their process: those
    # four checks are skipped, and no other.
    assert "28 passed, 4 skipped" in printed


def test_a_configuration_that_names_it_serves_it(author: Author) -> None:
    (author.folder / "flows").mkdir()
    with served(author) as http:
        asked = say(http, messages=[{"id": "u", "role": "user", "content": "deploy v2.0"}])
        (ask,) = asked[-1]["outcome"]["interrupts"]
    with served(author) as http:
        entry = {"interruptId": ask["id"], "status": "resolved", "payload": {"approved": True}}
        answered = say(http, resume=[entry])
        say(http, resume=[entry])

    assert answered[-1]["outcome"] == {"type": "success"}
    assert "v2.0 is deployed" in [e.get("content") for e in answered]
    deployed = (author.folder / "flows" / "deployed.jsonl").read_text()
    assert [json.loads(line) for line in deployed.splitlines()] == [{"version": "v2.0"}]


def say(http: httpx.Client, **members: Any) -> list[dict[str, Any]]:
    """Carry an input out; gives its events."""
    body = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": [], **members}
    answer = http.post("/agents/deployer", json=body)
    assert answer.status_code == 200, answer.text
    lines = [line for line in answer.text.splitlines() if line.startswith("data:")]
    return [json.loads(line.removeprefix("data:")) for line in lines]


@contextmanager
def served(author: Author) -> Iterator[httpx.Client]:
    """The server of the example's configuration, in a process of its own."""
    process = subprocess.Popen(
        [author.scripts / "agui-bridge", "serve", "bridge.yaml", "--port", "0"],
        cwd=author.folder,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    watch = threading.Timer(PATIENCE, process.kill)
    watch.start()
    try:
        told = []
        for line in process.stdout:
            told.append(line)
            if "listens on http" in line:
                watch.cancel()
                url = line.partition("listens on ")[2].split()[0]
                with httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE) as http:
                    yield http
                return
        pytest.fail(f"the server does not listen: {told}")
    finally:
        watch.cancel()
        process.terminate()
        process.communicate(timeout=PATIENCE)
