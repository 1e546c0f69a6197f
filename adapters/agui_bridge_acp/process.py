"""An agent's process: started with what it may know of the bridge's surroundings, and ended."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Final

logger: Final = logging.getLogger("agui_bridge")

LONGEST_LINE: Final = 16 * 1024 * 1024
"""Bytes of one message at most: of a file that was changed, an agent tells both versions."""

_PASSED_ON: Final = (
    *("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"),
)
"""All that an agent gets of the bridge's environment: no key of anything else is among them."""

_WATCH: Final = ("/bin/sh", "-c", 'read _; kill -s KILL -- "-$1"', "sh")
"""Waits for the end of its input, which the bridge has open, then kills a process group.

Not every agent ends when its input does: one that is at work goes on, and asks nobody any more.
"""

_LAST_WORDS: Final = 2.0
"""Seconds that a process has to end by itself, once its input is closed."""


class LineTooLong(ValueError):
    """A message exceeds `LONGEST_LINE`."""


def home_of(homes: Path, scope: str) -> Path:
    """The home of a scope's agents, made where there is none: what they sign in with, and remember.

    Args:
        homes: the folder of all homes.
        scope: the principal's.

    Raises:
        OSError: it can't be made.
    """
    home = homes / hashlib.sha256(scope.encode(errors="surrogatepass")).hexdigest()[:32]
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return home


def environment_of(home: Path, given: Mapping[str, str]) -> dict[str, str]:
    """What a process finds in its environment.

    Args:
        home: its home.
        given: what its author sets besides.
    """
    known = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {**known, "HOME": str(home), **given}


class Process:
    """An agent that speaks on its standard input and output.

    Made by `start`. It leads a process group, so that its tools end with it, and all of them with
    the bridge, however that ends.
    """

    def __init__(
        self, process: asyncio.subprocess.Process, watch: asyncio.subprocess.Process
    ) -> None:
        self._process = process
        self._watch = watch
        self._complaints = asyncio.create_task(self._hear_complaints())

    @classmethod
    async def start(
        cls, command: Sequence[str], *, cwd: Path, home: Path, env: Mapping[str, str]
    ) -> Process:
        """Start it.

        Args:
            command: its program and arguments.
            cwd: the folder that it works in.
            home: its home.
            env: what its author sets in its environment.

        Raises:
            OSError: there is no such program or folder.
        """
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=cwd,
            env=environment_of(home, env),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=LONGEST_LINE,
            start_new_session=True,
        )
        try:
            watch = await asyncio.create_subprocess_exec(
                *_WATCH,
                str(process.pid),
                env={},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        except BaseException:
            process.kill()
            raise
        return cls(process, watch)

    async def lines(self) -> AsyncIterator[bytes]:
        """Give what it says, to its end.

        Raises:
            LineTooLong: it says more in a line than is taken.
        """
        assert self._process.stdout is not None
        try:
            while line := await self._process.stdout.readline():
                yield line
        except ValueError as error:
            raise LineTooLong(str(error)) from error

    async def send(self, line: bytes) -> None:
        """Tell it something, and wait while it takes nothing.

        Raises:
            OSError: it is gone.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        await self._process.stdin.drain()

    async def end(self) -> None:
        """Close its input, and kill it where it does not end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS):
                await self._process.wait()
        await self.kill()

    async def kill(self) -> None:
        """End it at once, and all that it has started."""
        self.strike()
        if self._watch.returncode is None:
            self._watch.kill()
        await self._process.wait()
        await self._watch.wait()
        self._complaints.cancel()
        await asyncio.gather(self._complaints, return_exceptions=True)

    def strike(self) -> None:
        """Kill it without waiting for its end."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _hear_complaints(self) -> None:
        # They may hold what no client may read, so they go to the log of who asks for it.
        assert self._process.stderr is not None
        while said := await self._process.stderr.read(4096):
            logger.debug("an agent's standard error: %s", said.decode(errors="replace").rstrip())
