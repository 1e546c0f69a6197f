"""A bridge as a process of its own that serves A2A, and that can be killed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import httpx

from tests.support.commands import Command
from tests.support.ports import free_port
from tests.support.target import START_SECONDS
from tests.support.waiting import wait_until

__all__ = ["Served"]

ROOT = Path(__file__).parents[2]


class Served:
    """`agui-bridge serve`, on the store and with the effects of a folder.

    Args:
        folder: the folder.
        variables: environment variables besides.

    Attributes:
        base: its address.
    """

    def __init__(self, folder: Path, **variables: str) -> None:
        port = free_port()
        self._log = (folder / f"log-{port}").open("wb")
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "A2A_STORE": f"sqlite:///{folder / 'agents.db'}",
            "A2A_EFFECTS": str(folder / "effects"),
            **variables,
        }
        self._command = Command(
            "agui_bridge",
            *("serve", "tests.a2a.agents:bridge", "--port", str(port)),
            cwd=folder,
            env=environment,
            stdout=self._log.fileno(),
            stderr=subprocess.STDOUT,
        )
        self.base = f"http://127.0.0.1:{port}"
        try:
            wait_until(self._is_up, START_SECONDS)
        except BaseException:
            self.kill()
            raise

    def _is_up(self) -> bool:
        assert self._command.poll() is None, "the server ended"
        try:
            return httpx.get(f"{self.base}/healthz", trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        """End it with SIGKILL."""
        self._command.close()
        self._log.close()
