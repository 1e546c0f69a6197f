"""pydantic-ai's own AG-UI endpoint as a process, from the environment of what we compare with."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx

from tests.support import unavailable
from tests.support.effects import lines_of
from tests.support.ports import free_port
from tests.support.target import ROOT, START_SECONDS

__all__ = ["PydanticAIProcess"]

PYTHON = ROOT / ".venv-peers" / "bin" / "python"


class PydanticAIProcess:
    """A server of examples/proxy_pydantic_ai.

    Attributes:
        url: its address; the same after a restart.
    """

    def __init__(self, folder: Path) -> None:
        if not PYTHON.exists():
            unavailable("pydantic-ai", "`make e2e` sets its environment up")
        self._effects = folder / "effects.jsonl"
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}/"
        self._log = folder / "pydantic-ai.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [str(PYTHON), "-m", "examples.proxy_pydantic_ai.server"]
        command += ["--port", str(self._port), "--effects", str(self._effects)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            assert self._process.poll() is None, self._log.read_text()[-2000:]
            try:
                if httpx.get(f"{self.url}readyz", trust_env=False).is_success:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise AssertionError(f"it did not start: {self._log.read_text()[-2000:]}")

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None

    @property
    def effects_file(self) -> Path:
        """Where every execution of its tool appends a line."""
        return self._effects

    def executed(self, name: str) -> list[dict[str, Any]]:
        """The executions of the tool for a name, in order."""
        lines = map(json.loads, lines_of(self._effects))
        return [line for line in lines if line["to"].startswith(f"{name}-")]
