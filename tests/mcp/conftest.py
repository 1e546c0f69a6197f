"""A shop, as an MCP server of the official SDK in a process of its own, and an agent that buys."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from mcp import StdioServerParameters

from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.agents.replay.journal import StepFailed
from agui_bridge.mcp import MCPServers
from agui_bridge.policy import CallDenied
from tests.processes.conftest import targets as targets  # a fixture
from tests.support.effects import lines_of
from tests.support.ports import free_port
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]


class Shop:
    """The server over HTTP; it counts what it executes in a file."""

    def __init__(self, folder: Path, *options: str, module: str = "tests.mcp.servers.shop") -> None:
        self.effects_file = folder / "effects.txt"
        self._module, self._options = module, options
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def effects(self) -> list[str]:
        """What was executed, in order."""
        return lines_of(self.effects_file)

    def start(self) -> None:
        """Start it, and wait until it listens."""
        command = [sys.executable, "-m", self._module, str(self.effects_file)]
        command += ["--port", str(self.port), *self._options]
        self._process = subprocess.Popen(command, cwd=ROOT)
        wait_until(self._listens)

    def kill(self) -> None:
        """End it with SIGKILL."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def _listens(self) -> bool:
        with socket.socket() as sock:
            return sock.connect_ex(("127.0.0.1", self.port)) == 0


@pytest.fixture(scope="module")
def open_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """One that serves all tests of a file."""
    served = Shop(tmp_path_factory.mktemp("shop"), "--key", "k")
    yield served
    served.kill()


@pytest.fixture
def shop(open_shop: Shop) -> Shop:
    """One that has done nothing yet."""
    open_shop.effects_file.unlink(missing_ok=True)
    return open_shop


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Shop]:
    """One to kill, which keeps its state valid over restarts."""
    served = Shop(tmp_path, "--key", "k")
    yield served
    served.kill()


@pytest.fixture
def forgetful(tmp_path: Path) -> Iterator[Shop]:
    """One that forgets its state once it is restarted, as servers do by default."""
    served = Shop(tmp_path)
    yield served
    served.kill()


def command(effects: Path, module: str = "tests.mcp.servers.shop") -> StdioServerParameters:
    """The same over stdio."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", module, str(effects)],
        cwd=ROOT,
    )


def calling(
    servers: MCPServers, name: str, args: dict[str, Any], **options: Any
) -> Callable[[FunctionRun], Any]:
    """An agent that calls one tool, and says what came of it as JSON."""

    async def agent(run: FunctionRun) -> str:
        try:
            return json.dumps(await servers.call(run, name, args, **options))
        except StepFailed as error:
            return json.dumps({"failed": error.error, "text": error.text})
        except CallDenied as denied:
            return json.dumps({"denied": denied.by, "reason": denied.reason})

    return agent


def alive(pid: int) -> bool:
    """Whether a process lives."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
