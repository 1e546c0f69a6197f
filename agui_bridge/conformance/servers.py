"""The processes of a server that the kit starts, restarts and ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

import httpx

from agui_bridge.conformance.config import Restart, Server, filled
from agui_bridge.errors import ConfigurationError

_END_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.1


class Processes:
    """The processes of one server, each on a port of its own.

    Attributes:
        ports: the first one serves `url`, the second `second_url`.
    """

    def __init__(
        self, server: Server, folder: Path, client: httpx.AsyncClient, url: str = ""
    ) -> None:
        """Choose the ports.

        Args:
            server: what is started.
            folder: for logs.
            client: asks whether they are ready.
            url: of the endpoint, with `{port}`: is asked where the server names no other.
        """
        self.ports: list[int] = []
        for port in server.ports:
            self.ports.append(port or _free_port([*self.ports, *server.ports]))
        self._server = server
        self._folder = folder
        self._ready = server.ready or url
        self._client = client
        self._running: dict[int, asyncio.subprocess.Process] = {}

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Processes]:
        """Start all of them; end them with the block.

        Raises:
            ConfigurationError: one does not start.
        """
        try:
            for port in self.ports:
                await self._start(port)
            yield self
        finally:
            for port in list(self._running):
                await self._end(port)

    async def restart(self) -> None:
        """End every process without warning, as a crash does, and start it again.

        Raises:
            ConfigurationError: one does not come back.
        """
        for port in self.ports:
            await self._end(port, kill=True)
        for port in self.ports:
            await self._start(port)

    async def _start(self, port: int) -> None:
        names = {"port": str(port), "folder": str(self._folder), "python": sys.executable}
        command = filled(self._server.command, **names)
        log = self._folder / f"server-{port}.log"
        with log.open("ab") as file:
            self._running[port] = await _spawn(command, self._server, file)
        process, ready = self._running[port], filled(self._ready, **names)

        def output() -> str:
            return log.read_text(errors="replace")[-2000:]

        def check() -> None:
            if process.returncode is not None:
                raise ConfigurationError(f"server.command ended at once:\n{output()}")

        await await_ready(self._client, ready, self._server.start_seconds, check, output)

    async def _end(self, port: int, *, kill: bool = False) -> None:
        process = self._running.pop(port)
        if process.returncode is not None:
            return
        process.kill() if kill else process.terminate()
        try:
            async with asyncio.timeout(_END_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def _spawn(
    command: list[str], server: Server, output: IO[bytes]
) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            cwd=server.folder,
            env={**os.environ, **server.environment},
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
        )
    except OSError as error:
        raise ConfigurationError(f"server.command can't be run: {error}.") from None


async def await_ready(
    client: httpx.AsyncClient,
    url: str,
    seconds: float,
    check: Callable[[], None] = lambda: None,
    output: Callable[[], str] = str,
) -> None:
    """Return once a URL answers at all: a server that takes POST alone has no GET that succeeds.

    Only 5xx is no answer: it is what a server says that is still starting, or a proxy before it.

    Args:
        client: asks.
        url: is asked.
        seconds: how long.
        check: raises if there is nothing left to wait for.
        output: what the server wrote, for the message.

    Raises:
        ConfigurationError: it does not in time; the message says what was tried and what to do.
    """
    tried, last = 0, "nothing yet"
    # Some versions of httpcore take a cancellation that comes while they connect for a fault.
    over = time.monotonic() + seconds
    try:
        async with asyncio.timeout(seconds):
            while time.monotonic() < over:
                tried += 1
                try:
                    status = (await client.get(url)).status_code
                    if status < 500:
                        return
                    last = f"HTTP {status}"
                except httpx.TransportError as error:
                    last = type(error).__name__
                check()
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError:
        pass
    wrote = output().strip()
    raise ConfigurationError(
        f"The server is not ready: GET {url} was tried {tried} times in {seconds:g} s, and "
        f"gave {last} the last time.\nAny answer but 5xx counts, 404 and 405 too. See that the "
        "command listens on that address and port; set ready to a URL that it does answer, or "
        "start_seconds to what it needs." + (f"\nIt wrote:\n{wrote}" if wrote else "")
    )


def restarter(
    restart: Restart, client: httpx.AsyncClient, names: Mapping[str, str], url: str
) -> Callable[[], Awaitable[None]]:
    """The function that restarts a server which somebody else runs.

    Args:
        restart: how.
        client: asks whether it is back.
        names: what `{name}` stands for in the command and the URL.
        url: of the endpoint, which is asked if `restart` names no other.

    Returns:
        Raises ConfigurationError if the command fails, or the server is not back in time.
    """

    async def run() -> None:
        process = await asyncio.create_subprocess_exec(*filled(restart.command, **names))
        if await process.wait():
            raise ConfigurationError(f"restart.command ends with code {process.returncode}.")
        ready = filled(restart.ready or url, **names)
        await await_ready(client, ready, restart.start_seconds)

    return run


def _free_port(taken: Sequence[int]) -> int:
    while True:
        # Below those that the system gives to whoever asks for any, before the server listens.
        port = random.randrange(20_000, 32_000)
        if port in taken:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
