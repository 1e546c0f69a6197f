"""The approval target as a real process, and a client that talks to it over a real socket."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.support.effects import lines_of
from tests.support.forks import TELL, fork
from tests.support.ports import free_port
from tests.support.streams import check_stream
from tests.support.waiting import PATIENCE, wait_until

__all__ = ["Answered", "Target", "approve"]

ROOT = Path(__file__).parents[2]
START_SECONDS = 30.0
GRACEFUL_SECONDS = 90.0
"""How long a graceful end may take: the server gives its runs 10 s, what it then cancels 10 s, and
connections 5 s more; a store whose disk is slow comes on top."""
STREAM_SECONDS = 60.0
"""How long a stream may take, and how long it may be silent."""


@dataclass(frozen=True)
class Answered:
    """A whole stream, or what came instead.

    Attributes:
        events: in order.
        broken: it broke off before a terminal event.
        why: what broke it off.
        refused: the status and the code of an answer that is no stream.
    """

    events: list[dict[str, Any]] = field(default_factory=list)
    broken: bool = False
    why: str | None = None
    refused: str | None = None

    @property
    def code(self) -> str | None:
        """The code of its RUN_ERROR, if any."""
        return next((e["code"] for e in self.events if e["type"] == "RUN_ERROR"), None)

    @property
    def interrupts(self) -> list[dict[str, Any]]:
        """The interrupts that it ends with."""
        for event in self.events:
            if event["type"] == "RUN_FINISHED" and event["outcome"]["type"] == "interrupt":
                return list(event["outcome"]["interrupts"])
        return []

    @property
    def outcome(self) -> str | None:
        """The type of its outcome."""
        found = (e["outcome"]["type"] for e in self.events if e["type"] == "RUN_FINISHED")
        return next(found, None)


def approve(interrupt: dict[str, Any], **payload: Any) -> dict[str, Any]:
    """A resume entry that approves (or what the payload says)."""
    return {
        "interruptId": interrupt["id"],
        "status": "resolved",
        "payload": {"approved": True, **payload},
    }


class Target:
    """One process of `examples.approval_target`.

    Args:
        folder: where its effects file and log lie.
        store: store URL; by default a SQLite file in the folder.
        lease: seconds of a run's lease.
        expires_in: seconds until an interrupt expires.
        module: what is run, with the target's options.
        options: further options of its command line.
        wait: whether to wait until it answers; else call `await_health`.
        port: where it listens; by default a free port.
    """

    def __init__(
        self,
        folder: Path,
        *,
        store: str | None = None,
        lease: float = 30.0,
        expires_in: float | None = None,
        module: str = "examples.approval_target",
        options: Sequence[str] = (),
        wait: bool = True,
        port: int | None = None,
    ) -> None:
        self.effects_file = folder / "effects.jsonl"
        self.store = store or f"sqlite:///{folder / 'target.db'}"
        self.port = free_port() if port is None else port
        arguments = ["--port", str(self.port), *options]
        arguments += ["--effects", str(self.effects_file), "--lease", str(lease)]
        arguments += ["--store", self.store]
        if expires_in is not None:
            arguments += ["--expires-in", str(expires_in)]
        self._begin(folder, module, arguments)
        if wait:
            self.await_health()

    def _begin(self, folder: Path, module: str, arguments: Sequence[str]) -> None:
        """Start the process, which is to listen on `port`."""
        self._log = folder / f"target-{self.port}.log"
        self._process = fork(module, arguments, self._log)
        url = f"http://127.0.0.1:{self.port}"
        self.client = httpx.Client(
            base_url=url, timeout=STREAM_SECONDS, verify=False, trust_env=False
        )

    @property
    def effects(self) -> list[dict[str, Any]]:
        """Every execution of the tool, by whichever process."""
        return [json.loads(line) for line in lines_of(self.effects_file)]

    def send(
        self,
        thread: str,
        text: str | None = None,
        resume: Sequence[dict[str, Any]] | None = None,
        *,
        heard: list[dict[str, Any]] | None = None,
    ) -> Answered:
        """Run the agent and give the whole stream, as far as it came.

        What comes is added to `heard` at once, for who looks meanwhile.
        """
        body: dict[str, Any] = {
            "threadId": thread,
            "runId": str(uuid.uuid4()),
            "protocolVersion": "1.0",
            "messages": [],
        }
        if text is not None:
            body["messages"] = [{"id": str(uuid.uuid4()), "role": "user", "content": text}]
        if resume is not None:
            body["resume"] = list(resume)
        events = [] if heard is None else heard
        deadline = time.monotonic() + STREAM_SECONDS
        try:
            with self.client.stream("POST", "/agents/target", json=body) as response:
                if response.status_code == 503:
                    error = json.loads(response.read())["error"]
                    return Answered(refused=f"503 {error['code']}")
                assert response.status_code == 200, response.read()
                for line in response.iter_lines():
                    if line.startswith("data: "):
                        events.append(json.loads(line.removeprefix("data: ")))
                    assert time.monotonic() < deadline, f"a stream without end: {events[-3:]}"
        except httpx.TransportError as error:
            check_stream(events, cut_off=True)
            return Answered(events, broken=True, why=repr(error))
        answered = Answered(events)
        refused = answered.code is not None and answered.outcome is not None
        check_stream(events, refused=refused)
        return answered

    def thread(self, thread: str) -> dict[str, Any]:
        """The thread as GET gives it."""
        found: dict[str, Any] = self.client.get(f"/agents/target/threads/{thread}").json()
        return found

    def audit(self, thread: str) -> list[dict[str, Any]]:
        """The thread's interrupts with their history."""
        answer = self.client.get(f"/agents/target/threads/{thread}/interrupts").json()
        return list(answer["interrupts"])

    def kill(self) -> None:
        """End the process with SIGKILL."""
        self._process.kill()
        self.wait_for_death()

    def freeze(self) -> None:
        """Stop the process where it is (SIGSTOP)."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen process go on (SIGCONT)."""
        os.kill(self.pid, signal.SIGCONT)

    def end(self) -> None:
        """End the process gracefully (SIGTERM), and wait until it is gone."""
        # An idle connection of ours would hold its end up.
        self.client.close()
        os.kill(self.pid, signal.SIGTERM)
        self.wait_for_death(GRACEFUL_SECONDS)
        # Else it has only ended because the server gave up on a request or a connection.
        assert "timeout graceful shutdown exceeded" not in self.log, self.log

    def wait_for_death(self, seconds: float = PATIENCE) -> None:
        """Wait until the process is gone; one that lives on tells where it stands."""
        self._process.join(seconds)
        if self._process.is_alive():
            os.kill(self.pid, TELL)
            self._process.join(2)
            raise AssertionError(f"it lives on after {seconds:g} s:\n{self.log}")

    def wait_for_freeze(self) -> None:
        """Wait until the process has stopped itself (SIGSTOP)."""
        wait_until(self._stands_still)

    def _stands_still(self) -> bool:
        assert self._process.is_alive(), f"it ended instead:\n{self.log}"
        shown = subprocess.run(
            ["ps", "-o", "state=", "-p", str(self.pid)], capture_output=True, text=True, check=True
        )
        return shown.stdout.strip().startswith("T")

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process.pid is not None
        return self._process.pid

    @property
    def log(self) -> str:
        """What it printed."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def close(self) -> None:
        """End the process, however it is."""
        self.client.close()
        self._process.kill()
        self.wait_for_death()

    def __enter__(self) -> Target:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def await_health(self) -> None:
        """Wait until it serves."""
        try:
            wait_until(self._serves, START_SECONDS)
        except AssertionError:
            self.close()
            raise

    def _serves(self) -> bool:
        assert self._process.is_alive(), f"the target ended at once:\n{self.log}"
        try:
            return self.client.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False
