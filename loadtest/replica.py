"""A replica as a process of its own, and its memory over time."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from benchmarks.contenders.process import ROOT, environment, resident_bytes

PATIENCE = 60.0


@dataclass
class Memory:
    """Samples of a process's memory: seconds since the start, and bytes."""

    samples: list[tuple[float, int]] = field(default_factory=list)

    @property
    def settled(self) -> list[tuple[float, int]]:
        """The samples of the second half: by then caches and pools are full."""
        return self.samples[len(self.samples) // 2 :]

    @property
    def slope(self) -> float:
        """Bytes a second by which it grows in the second half (least squares)."""
        points = self.settled
        if len(points) < 2:
            return 0.0
        mean_x = sum(x for x, _ in points) / len(points)
        mean_y = sum(y for _, y in points) / len(points)
        spread = sum((x - mean_x) ** 2 for x, _ in points)
        return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


class Replica:
    """One server process on a port of 127.0.0.1.

    Args:
        module: what is run, with what its command line begins with.
        port: where it listens.
        options: more of its command line.
        log: where it prints to.
    """

    def __init__(self, module: str, port: int, options: list[str], log: Path) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.memory = Memory()
        self._log = log.open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-m", *module.split(), "--port", str(port), *options],
            cwd=ROOT,
            env=environment(),
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )

    @property
    def log(self) -> str:
        """What it printed."""
        return Path(self._log.name).read_text(errors="replace")

    @property
    def resident(self) -> int:
        """Bytes that it has in RAM."""
        return resident_bytes(self._process.pid)

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def await_start(self) -> None:
        """Return once it is ready."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self._process.poll() is None:
            try:
                if httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise SystemExit(f"a replica does not start; see {self._log.name}")

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        self._log.close()
