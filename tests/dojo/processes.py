"""The processes that a run of the dojo needs: the models' mock, servers of agents, the pages."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Self

from tests.dojo.checkout import Site
from tests.dojo.examples import PROXIED

__all__ = ["Processes", "Side"]

Side = Literal["bridge", "official"]
"""Whose servers: the bridge's, or the frameworks' own."""

_ROOT: Final = Path(__file__).parents[2]
_STARTS: Final = 300.0
"""Seconds that a server may take to start: it imports six frameworks."""


class Processes:
    """Starts them as a context manager, each on a free port; ends all it started.

    Args:
        site: the dojo's pages. Logs stand beside its folder.
        frameworks: whose agents are served.

    Raises:
        SystemExit: one of them does not start; says where its log is.
    """

    def __init__(self, site: Site, frameworks: tuple[str, ...]) -> None:
        self._site = site
        self._frameworks = frameworks
        self._running = ExitStack()
        self._mock = ""

    def __enter__(self) -> Self:
        program = self._package("tsx/dist/cli.mjs")
        command = ("node", program, "aimock-standalone.ts")
        port = _free_port()
        self._mock = self._start("mock", port, *command, at=self.e2e, AIMOCK_PORT=str(port))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._running.close()

    @property
    def e2e(self) -> Path:
        """The folder of the specs."""
        return self._site.folder / "e2e"

    def server(self, side: Side) -> str:
        """Serve the example agents; the address."""
        proxied = tuple(one for one in self._frameworks if one in PROXIED)
        if side == "bridge" and proxied:
            behind = self._server("official", "proxied", proxied)
            return self._server(side, side, self._frameworks, DOJO_PROXIED=behind)
        return self._server(side, side, self._frameworks)

    def _server(self, side: Side, name: str, frameworks: tuple[str, ...], **more: str) -> str:
        port = _free_port()
        given = (str(self._site.checkout), str(port), self._mock, *frameworks)
        command = (sys.executable, "-W", "ignore", "-m", f"tests.dojo.{side}_server", *given)
        return self._start(name, port, *command, at=_ROOT, **more)

    def pages(self, side: Side) -> str:
        """Serve the dojo's pages, and the agents behind them; the pages' address."""
        server = self.server(side)
        port = _free_port()
        program = self._package("next/dist/bin/next")
        command = ("node", program, "start", "-H", "127.0.0.1", "-p", str(port))
        return self._start(
            f"{side}-pages", port, *command, at=self._site.folder, DOJO_SERVER=server
        )

    def specs(self, pages: str, folder: str, options: list[str], report: Path) -> None:
        """Run a folder of specs, one after another.

        Args:
            pages: their address.
            folder: below `tests`.
            options: of Playwright.
            report: where it writes what became of each, in JSON.

        Raises:
            SystemExit: it wrote none.
        """
        program = self._package("@playwright/test/cli.js")
        command = ["node", program, "test", "-c", "playwright.config.ts", *options]
        report.unlink(missing_ok=True)
        more = {"DOJO_PAGES": pages, "DOJO_RESULTS": str(report)}
        log = report.with_suffix(".log")
        with log.open("w") as written:
            subprocess.run(
                [*command, f"tests/{folder}/"],
                cwd=self.e2e,
                env={**os.environ, **more},
                stdout=written,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if not report.exists():
            raise SystemExit(f"dojo: Playwright wrote no report of {folder}: see {log}.")

    def _package(self, path: str) -> str:
        return str(self._site.folder / "node_modules" / path)

    def _start(self, name: str, port: int, *command: str, at: Path, **more: str) -> str:
        path = self._site.folder.parent / f"{name}.log"
        log = self._running.enter_context(path.open("w"))
        process = subprocess.Popen(
            command, cwd=at, env={**os.environ, **more}, stdout=log, stderr=subprocess.STDOUT
        )
        self._running.callback(_end, process)
        until = time.monotonic() + _STARTS
        while process.poll() is None and time.monotonic() < until:
            with socket.socket() as asked:
                if asked.connect_ex(("127.0.0.1", port)) == 0:
                    return f"http://127.0.0.1:{port}"
            time.sleep(0.2)
        raise SystemExit(f"dojo: {name} did not start: see {path}.")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
