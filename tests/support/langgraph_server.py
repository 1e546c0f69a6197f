"""`langgraph dev` with the graphs of tests/servers/langgraph_server, as a process to kill."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from tests.support import unavailable
from tests.support.effects import lines_of
from tests.support.ports import free_port

__all__ = ["LangGraphProcess"]

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / ".venv-langgraph-server" / "bin" / "langgraph"
GRAPHS = "tests.servers.langgraph_server.graphs"
NAMES = ("mailer", "deploy", "several", "within", "configured", "stands")
EXAMPLE = {"deployer": "examples.langgraph_server.graph:graph"}
PATIENCE = 120.0


class LangGraphProcess:
    """A server whose memory is its own: what a kill leaves of it is nothing.

    Attributes:
        url: its address; the same after a restart.
    """

    def __init__(self, folder: Path) -> None:
        if not PROGRAM.exists():
            unavailable("LangGraph's server", "`make e2e` sets its environment up")
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._folder = folder
        self._log = folder / "langgraph.log"
        self.effects_file = folder / "effects.jsonl"
        self._heard = folder / "heard.json"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        graphs = {name: f"{GRAPHS}:{name}" for name in NAMES}
        config = {"dependencies": ["."], "graphs": graphs | EXAMPLE}
        (self._folder / "langgraph.json").write_text(json.dumps(config), encoding="utf-8")
        command = [str(PROGRAM), "dev", "--no-browser", "--no-reload"]
        command += ["--host", "127.0.0.1", "--port", str(self._port), "--n-jobs-per-worker", "10"]
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "EFFECTS": str(self.effects_file),
            "HEARD": str(self._heard),
            "LANGGRAPH_CLI_NO_ANALYTICS": "1",
            "LANGSMITH_TRACING": "false",
        }
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self._folder, env=environment, stdout=log, stderr=log
            )
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            assert self._process.poll() is None, self._log.read_text()[-2000:]
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/ok", trust_env=False).is_success:
                    return
            time.sleep(0.1)
        raise AssertionError(f"LangGraph's server did not start: {self._log.read_text()[-2000:]}")

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None

    @property
    def effects(self) -> list[Any]:
        """What was done, by whoever asked for it."""
        return [json.loads(line) for line in lines_of(self.effects_file)]

    def heard(self) -> Any:
        """What the mailer's model was asked last."""
        return json.loads(self._heard.read_text(encoding="utf-8"))

    @contextlib.contextmanager
    def running(self) -> Iterator[LangGraphProcess]:
        """Run it for a while."""
        self.start()
        try:
            yield self
        finally:
            self.kill()
