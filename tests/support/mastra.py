"""A real Mastra server with a scripted model, as a process that can be killed and started again."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from tests.support import unavailable
from tests.support.ports import free_port

__all__ = ["FOLDER", "MastraProcess"]

FOLDER = Path(__file__).parent.parent / "servers" / "mastra"
PACKAGES = Path(os.environ.get("MASTRA_PACKAGES", FOLDER)).resolve()
"""Where its packages are installed: of another version, if the variable says so."""
PATIENCE = 60.0


class MastraProcess:
    """The server of tests/servers/mastra.

    Attributes:
        url: its address; the same after a restart.
    """

    def __init__(self, folder: Path, *, storage: bool = True) -> None:
        node = shutil.which("node")
        if node is None or not (PACKAGES / "node_modules" / "@mastra").is_dir():
            unavailable("the Mastra server", f"get Node.js 20 and run npm ci in {PACKAGES}")
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._folder = folder
        self._command = [node, str(_sources(folder) / "server.mjs")]
        self._environment = {
            **os.environ,
            "PORT": str(self._port),
            "MASTRA_DB": f"file:{folder / 'mastra.db'}" if storage else "none",
            "EXTRA_RESUME_NETWORK": "1",
            "MASTRA_TELEMETRY_DISABLED": "1",
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._log = folder / "mastra.log"

    def start(self) -> None:
        """Start it and wait until it answers."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, cwd=self._folder, env=self._environment, stdout=log, stderr=log
            )
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            assert self._process.poll() is None, self._log.read_text()[-2000:]
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/healthz", trust_env=False).is_success:
                    return
            time.sleep(0.1)
        raise AssertionError(f"Mastra did not start: {self._log.read_text()[-2000:]}")

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None

    def executions(self) -> list[dict[str, Any]]:
        """What its tools have really done since it started."""
        found: list[dict[str, Any]] = httpx.get(f"{self.url}/x/executions", trust_env=False).json()
        return found

    def release(self, number: int) -> None:
        """Let the slow tool or step of this number end, once it has begun."""
        httpx.post(f"{self.url}/x/release/{number}", trust_env=False).raise_for_status()

    @contextlib.contextmanager
    def running(self) -> Iterator[MastraProcess]:
        """Run it for a while."""
        self.start()
        try:
            yield self
        finally:
            self.kill()


def _sources(folder: Path) -> Path:
    """The folder of the server's files, which stand where their packages are."""
    if PACKAGES == FOLDER:
        return FOLDER
    copies = folder / "server"
    copies.mkdir(exist_ok=True)
    for source in FOLDER.glob("*.mjs"):
        shutil.copy(source, copies)
    with contextlib.suppress(FileExistsError):
        (copies / "node_modules").symlink_to(PACKAGES / "node_modules")
    return copies
