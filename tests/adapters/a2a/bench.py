"""The SDK's server as a process, and what its agent has done."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support.effects import lines_of
from tests.support.forks import fork
from tests.support.ports import free_port
from tests.support.waiting import PATIENCE, wait_until


class Agent:
    """A process of `tests.adapters.a2a.agent`.

    Args:
        folder: where its file of effects and its log lie.
        options: of its command line.
        port: where it listens; by default a free one.
    """

    def __init__(self, folder: Path, options: Sequence[str] = (), port: int | None = None) -> None:
        self.folder = folder
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._effects = folder / "a2a-effects.jsonl"
        self._options = options
        self.start()

    def start(self) -> None:
        """Begin the process, and wait until it serves."""
        arguments = ["--port", str(self.port), "--effects", str(self._effects), *self._options]
        self._process = fork("tests.adapters.a2a.agent", arguments, self.folder / "agent.log")
        wait_until(self._serves, 2 * PATIENCE)

    def _serves(self) -> bool:
        assert self._process.is_alive(), (self.folder / "agent.log").read_text()
        try:
            url = self.url + "/.well-known/agent-card.json"
            return httpx.get(url, trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    @property
    def effects(self) -> list[Any]:
        """What has arrived, by whoever sent it."""
        return [json.loads(line) for line in lines_of(self._effects)]

    def kill(self) -> None:
        """End the process with SIGKILL."""
        self._process.kill()
        self._process.join(PATIENCE)


@contextmanager
def agent(folder: Path, *options: str) -> Iterator[Agent]:
    """An agent for as long as it is needed."""
    begun = Agent(folder, options)
    try:
        yield begun
    finally:
        begun.kill()
