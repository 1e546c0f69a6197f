"""The approval target as a process, and what its owner can see of it from outside."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import httpx

__all__ = ["Target", "serving"]

ROOT: Final = Path(__file__).parents[2]
PATIENCE: Final = 15.0
LOOK_EVERY: Final = 0.02

Json = dict[str, Any]


class Target:
    """`python -m examples.approval_target` with a SQLite store and an effects file of its own.

    Args:
        folder: Where the store, the effects and the log are kept.
        expires_in: Seconds until an interrupt expires; None is never.
    """

    def __init__(self, folder: Path, expires_in: float | None = None) -> None:
        self._folder = folder
        self._port = _free_port()
        self._options = ["--expires-in", str(expires_in)] if expires_in is not None else []
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"http://127.0.0.1:{self._port}"
        self._http = httpx.Client(base_url=f"{self.url}/agents/target", timeout=PATIENCE)

    # The process.

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [sys.executable, "-m", "examples.approval_target", "--port", str(self._port)]
        command += ["--effects", str(self._folder / "effects.jsonl")]
        command += ["--store", f"sqlite:///{self._folder / 'target.db'}", *self._options]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)

        def answers() -> bool:
            assert self._process is not None
            assert self._process.poll() is None, self._log.read_text()
            with contextlib.suppress(httpx.TransportError):
                return self._http.get(f"{self.url}/agents").status_code == 200
            return False

        _wait(answers, "the server's first answer")

    def kill(self) -> None:
        """End it as a power cut does."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """Shut it down; its log must hold no failure."""
        assert self._process is not None
        self._http.close()
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        finally:
            self._process.kill()
            self._process.wait()
        log = self._log.read_text()
        assert "Traceback" not in log, log

    @property
    def _log(self) -> Path:
        return self._folder / "target.log"

    # What it has done, and what it knows.

    def effects(self, name: str) -> list[Json]:
        """The executions of the tool for a name, in order."""
        path = self._folder / "effects.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in map(json.loads, lines) if line["to"].startswith(f"{name}-")]

    def get(self, thread: str) -> Json:
        """The thread as `GET …/threads/{thread}` tells it."""
        return self._json(self._http.get(f"/threads/{thread}"))

    def audit(self, thread: str) -> list[Json]:
        """Every interrupt of a thread, with its answer and history."""
        found = self._json(self._http.get(f"/threads/{thread}/interrupts"))
        interrupts: list[Json] = found["interrupts"]
        return interrupts

    def stop(self, thread: str, **options: Any) -> Json:
        """Stop a thread and wait for the result."""
        sent = {"json": options} if options else {}
        return self._json(self._http.post(f"/threads/{thread}/stop", **sent))

    def idle(self, thread: str) -> Json:
        """Wait until nothing runs on a thread; gives the thread."""

        def settled() -> bool:
            answer = self._http.get(f"/threads/{thread}")
            return answer.status_code == 200 and answer.json()["status"] != "running"

        _wait(settled, "the run's end")
        return self.get(thread)

    def expired(self, thread: str) -> None:
        """Wait until nothing on a thread can be answered any more."""
        _wait(lambda: not self.get(thread)["interrupts"], "expiry")

    def _json(self, answer: httpx.Response) -> Json:
        assert answer.status_code == 200, answer.text
        body: Json = answer.json()
        return body


@contextlib.contextmanager
def serving(folder: Path, expires_in: float | None = None) -> Iterator[Target]:
    """A target that is started and shut down."""
    target = Target(folder, expires_in)
    target.start()
    try:
        yield target
    finally:
        target.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"{what} did not come within {PATIENCE:.0f} seconds"
        time.sleep(LOOK_EVERY)
