"""A contender's process: started, asked for its memory, ended."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.contenders.ports import free_port
from benchmarks.rows import BenchmarkBroken

ROOT = Path(__file__).resolve().parents[2]
PEERS_PYTHON = ROOT / ".venv-peers" / "bin" / "python"
_PATIENCE = 240.0
_TICK = 0.01
"""Seconds between two ticks of the kernel, at most."""
_CPU_OF_PROCESS = 2
"""What Linux's clock ids of other processes end with for CPU time: `clock_getcpuclockid(3)`."""


def environment() -> dict[str, str]:
    """The environment of a process that imports this checkout."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def resident_bytes(pid: int) -> int:
    """The memory that a process has in RAM."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except FileNotFoundError:
        shown = subprocess.run(
            ["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True
        )
        return int(shown.stdout) * 1024
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


class Server:
    """A server on a free port of 127.0.0.1, until it is closed.

    Args:
        contender: a contender of `benchmarks.contenders.servers`, or `pydantic-ai`.
        options: further options of its command line.
    """

    def __init__(self, contender: str, *options: str | int) -> None:
        self.name = contender
        self.port = free_port()
        command: Sequence[str]
        if contender == "pydantic-ai":
            if not PEERS_PYTHON.exists():
                raise BenchmarkBroken(f"{PEERS_PYTHON} is missing: `make bench PEERS=1` makes it")
            command = [str(PEERS_PYTHON), "-m", "benchmarks.contenders.peer_pydantic_ai"]
        else:
            command = [sys.executable, "-m", "benchmarks.contenders.servers", contender]
        command = [*command, "--port", str(self.port), *map(str, options)]
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=environment(), stdout=self._log, stderr=subprocess.STDOUT
        )

    def await_start(self) -> None:
        """Return once it takes connections.

        Raises:
            BenchmarkBroken: it does not; with what it printed.
        """
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        raise BenchmarkBroken(f"{self.name} does not start:\n{self.log}")

    @property
    def log(self) -> str:
        """The end of what it printed."""
        self._log.flush()
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), 4_000, max(0, size - 4_000)).decode(errors="replace")

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    @property
    def resident(self) -> int:
        """Bytes that the process has in RAM."""
        return resident_bytes(self._process.pid)

    @property
    def cpu_seconds(self) -> float:
        """CPU time that it has taken so far, its ended threads' included; on Linux only.

        The kernel counts a thread's time when it sleeps, or at the next tick. So what has just
        answered gets a moment: else a short answer took no time.
        """
        time.sleep(_TICK)
        return time.clock_gettime(~self._process.pid << 3 | _CPU_OF_PROCESS)

    def close(self) -> None:
        """End the process; it has nothing to lose."""
        self._process.kill()
        self._process.wait()
        self._log.close()
