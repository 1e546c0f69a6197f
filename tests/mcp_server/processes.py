"""A bridge as a process of its own that serves MCP over HTTP, and that can be killed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import httpx

from tests.mcp_server.asking import environment
from tests.support.commands import Command
from tests.support.ports import free_port
from tests.support.target import START_SECONDS
from tests.support.waiting import wait_until

__all__ = ["Served"]


class Served:
    """`agui-bridge serve`, on the store and with the effects of a folder.

    Args:
        folder: the folder.
        variables: environment variables besides.
    """

    def __init__(self, folder: Path, **variables: str) -> None:
        port = free_port()
        self._log = (folder / f"log-{port}").open("wb")
        arguments = ("serve", "tests.mcp_server.agents:bridge", "--port", str(port))
        self._command = Command(
            "agui_bridge",
            *arguments,
            cwd=folder,
            env=environment(folder, **variables),
            stdout=self._log.fileno(),
            stderr=subprocess.STDOUT,
        )
        self._base = f"http://127.0.0.1:{port}"
        self.address = f"{self._base}/mcp"
        try:
            wait_until(self._is_up, START_SECONDS)
        except BaseException:
            self.kill()
            raise

    def _is_up(self) -> bool:
        assert self._command.poll() is None, "the server ended"
        try:
            return httpx.get(f"{self._base}/healthz", trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        """End it with SIGKILL."""
        self._command.close()
        self._log.close()
