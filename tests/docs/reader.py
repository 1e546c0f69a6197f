"""Somebody who follows the tutorial: saves files, starts servers, pastes lines."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.docs.pages import ROOT, snippets_of
from tests.support.ports import free_port
from tests.support.server import PATIENCE

__all__ = ["Reader", "blocks"]

TUTORIAL: Final = ROOT / "docs" / "tutorial"


def blocks(step: str, language: str) -> list[str]:
    """The code blocks of a step."""
    return [code for _, code in snippets_of(TUTORIAL / f"{step}.md", language)]


class Reader:
    """Somebody who follows the tutorial in a folder, with ports of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports = {"8787": str(free_port()), "8788": str(free_port())}
        # The programs of the environment that the tests run in, which pip put there.
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        kept = {name: text for name, text in os.environ.items() if not name.startswith("AGUI_")}
        self.environment = {
            **kept,
            "PATH": path,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "adapters")]),
            "NO_PROXY": "127.0.0.1",
        }

    @property
    def url(self) -> str:
        """Where the first server is."""
        return f"http://127.0.0.1:{self.ports['8787']}"

    def save(self, name: str, text: str) -> None:
        """Save a file."""
        (self.folder / name).write_text(text, encoding="utf-8")

    @contextlib.contextmanager
    def starts(self, *commands: str) -> Iterator[None]:
        """Servers that listen, until the block is over."""
        with contextlib.ExitStack() as stack:
            for command in commands:
                stack.enter_context(self._started(command))
            yield

    @contextlib.contextmanager
    def _started(self, command: str) -> Iterator[None]:
        words = self._here(command).split()
        if "--port" not in words:
            words += ["--port", self.ports["8787"]]
        log = self.folder / f"{words[-1]}.log"
        with log.open("wb") as output:
            server = subprocess.Popen(
                words, cwd=self.folder, env=self.environment, stdout=output, stderr=output
            )
        try:
            end = time.monotonic() + PATIENCE
            while not _listens(int(words[-1])):
                assert server.poll() is None and time.monotonic() < end, log.read_text()
                time.sleep(0.05)
            yield
        finally:
            server.terminate()
            server.wait(PATIENCE)

    def pastes(self, *lines: str) -> str:
        """What a shell prints when the lines are pasted into it; they must succeed."""
        pasted = self._here("\n".join(lines))
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", pasted],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE * 3,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _here(self, text: str) -> str:
        for port, free in self.ports.items():
            text = text.replace(port, free)
        return text


def _listens(port: int) -> bool:
    with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False
