"""A process that takes commands: JSON lines to its stdin, what comes of them on its stdout."""

from __future__ import annotations

import json
import queue
import secrets
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Final

__all__ = ["HERE", "PATIENCE", "Lines", "Reply"]

HERE: Final = Path(__file__).parent

PATIENCE: Final = 45.0
"""Seconds until something that ought to happen counts as missing."""

Json = dict[str, Any]


class Lines:
    """Such a process.

    Each command is `{id, do, …}`. What it brings is `{id, event}`, its end `{id, result}` or
    `{id, failed}`. `{printed}` belongs to no command.

    Args:
        command: what is run, in this folder.

    Attributes:
        printed: what the client has written to the console.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self.printed: list[str] = []
        self._process = subprocess.Popen(
            list(command), cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._lock = threading.Lock()
        self._waiting: dict[str, queue.SimpleQueue[Json]] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, do: str, **command: Any) -> Reply:
        """Give a command; what comes of it is in the reply."""
        reply = Reply(secrets.token_hex(6))
        with self._lock:
            self._waiting[reply.id] = reply.lines
            line = json.dumps({"id": reply.id, "do": do, **command})
            _end(self._process.stdin).write(line + "\n")
            _end(self._process.stdin).flush()
        return reply

    def close(self) -> None:
        """End the process."""
        _end(self._process.stdin).close()
        try:
            self._process.wait(PATIENCE)
        finally:
            self._process.kill()
            self._process.wait()
            self._reader.join()
            _end(self._process.stdout).close()

    def _read(self) -> None:
        for text in _end(self._process.stdout):
            line = json.loads(text)
            if "printed" in line:
                self.printed.append(line["printed"])
            else:
                self._waiting[line["id"]].put(line)
        for lines in self._waiting.values():
            lines.put({"failed": "the process has ended"})


def _end(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


class Reply:
    """What comes of one command.

    Attributes:
        events: Those that have reached the application.
    """

    def __init__(self, reply_id: str) -> None:
        self.id = reply_id
        self.lines: queue.SimpleQueue[Json] = queue.SimpleQueue()
        self.events: list[Json] = []
        self._result: Json | None = None

    def result(self) -> Json:
        """Wait until the command is carried out."""
        deadline = time.monotonic() + PATIENCE
        while self._result is None:
            self._take(deadline, "the end")
        return self._result

    def until(self, kind: str, count: int = 1) -> None:
        """Wait until the application has seen that many events of a type."""
        deadline = time.monotonic() + PATIENCE
        while sum(event["type"] == kind for event in self.events) < count:
            assert self._result is None, f"it ended without {count} {kind}: {self.events}"
            self._take(deadline, f"{count} {kind}")

    def _take(self, deadline: float, what: str) -> None:
        try:
            line = self.lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise AssertionError(f"{what} did not come; until now: {self.events}") from None
        assert "failed" not in line, line["failed"]
        if "event" in line:
            self.events.append(line["event"])
        else:
            self._result = line["result"]
