"""The command line as a process, serving until the test is over."""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from tests.support.commands import Command

ROOT = Path(__file__).parents[2]
PATIENCE = 30.0
"""Seconds until a server that does not listen is given up."""


def environment(**more: str) -> dict[str, str]:
    """The environment of a command: this checkout's package, nothing that colours or configures."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AGUI_")}
    kept.pop("FORCE_COLOR", None)
    return {**kept, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "NO_COLOR": "1", **more}


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "agui_bridge", *args]


class Serving:
    """A server that listens.

    Attributes:
        process: its process.
        url: where it listens, as it says itself.
    """

    def __init__(self, process: "subprocess.Popen[str] | Command") -> None:
        self.process = process
        self.url = ""
        self.told: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._listens = threading.Event()
        self._readers = [
            threading.Thread(target=self._read, args=(name,), daemon=True) for name in self.told
        ]
        for reader in self._readers:
            reader.start()
        if not self._listens.wait(PATIENCE) or not self.url:
            pytest.fail(f"the server does not listen: {self.told}")

    def _read(self, name: str) -> None:
        pipe: IO[Any] = getattr(self.process, name)
        for read in pipe:
            line = read if isinstance(read, str) else read.decode()
            self.told[name].append(line)
            if not self.url and "listens on http" in line:
                self.url = line.partition("listens on ")[2].split('"')[0].split()[0]
                self._listens.set()
        if name == "stdout":
            self._listens.set()

    def read_all(self) -> None:
        """Wait until all was read of a process that has ended; then its pipes may be closed."""
        for reader in self._readers:
            reader.join(PATIENCE)

    def output(self) -> tuple[str, str]:
        """What it printed and logged, once it has ended."""
        self.process.wait(PATIENCE)
        self.read_all()
        return "".join(self.told["stdout"]), "".join(self.told["stderr"])


@contextlib.contextmanager
def _served(process: "subprocess.Popen[str] | Command") -> Iterator[Serving]:
    served: Serving | None = None
    try:
        served = Serving(process)
        yield served
    finally:
        process.kill()
        if served is not None:
            served.read_all()


@contextlib.contextmanager
def serving(cwd: Path, *args: str, verb: str = "serve", **variables: str) -> Iterator[Serving]:
    """A server on a port of its own choice, killed at the end if it still runs."""
    process = Command(
        "agui_bridge",
        *(verb, *args),
        cwd=cwd,
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with contextlib.closing(process), _served(process) as served:
        yield served


@contextlib.contextmanager
def interpreted(cwd: Path, *args: str, **variables: str) -> Iterator[Serving]:
    """The same in an interpreter of its own: what is tested is how that one ends."""
    with (
        subprocess.Popen(
            command("serve", *args),
            cwd=cwd,
            env=environment(**variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
        _served(process) as served,
    ):
        yield served
