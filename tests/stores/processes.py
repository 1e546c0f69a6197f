"""Real processes on one store: starts `racer` and ends it whatever happens."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

Process = subprocess.Popen[str]


@contextmanager
def racers(mode: str, url: str, number: int) -> Iterator[list[Process]]:
    """Run some processes for as long as the block lasts."""
    command = [sys.executable, "-m", "tests.stores.racer", mode, url]
    pipe = subprocess.PIPE
    started = [
        subprocess.Popen(command, cwd=ROOT, text=True, stdin=pipe, stdout=pipe)
        for _ in range(number)
    ]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


def tell(process: Process, line: object) -> None:
    """Send a line."""
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def hear(process: Process) -> str:
    """Wait for a line; empty when the process has ended."""
    assert process.stdout is not None
    return process.stdout.readline().strip()
