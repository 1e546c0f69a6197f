"""The examples of frameworks as processes on one store: all send e-mails that were approved."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.support.effects import lines_of
from tests.support.forks import Forked, Nursery
from tests.support.ports import free_port
from tests.support.waiting import wait_until

__all__ = ["YES", "Event", "MailServer", "asks_of", "mail_servers"]

LEASE = 30.0
"""Seconds of a lease that no load of the machine outlasts."""
YES = {"approved": True}
Event = dict[str, Any]


@dataclass(frozen=True)
class MailServer:
    """One process of an example."""

    url: str
    process: Forked
    effects: Path

    def send(
        self, text: str | None = None, *, answers: list[Event] | None = None, thread: str = "t"
    ) -> list[Event]:
        """What a run tells; less than a whole stream when the process dies."""
        body: Event = {"threadId": thread, "runId": "r", "protocolVersion": "1.0", "messages": []}
        if text is not None:
            body["messages"] = [{"id": os.urandom(6).hex(), "role": "user", "content": text}]
        if answers is not None:
            body["resume"] = [
                {"interruptId": ask["id"], "status": "resolved", "payload": YES} for ask in answers
            ]
        events = []
        try:
            with httpx.stream(
                "POST", f"{self.url}/agents/mailer", json=body, timeout=60
            ) as response:
                for line in response.iter_lines():
                    if line.startswith("data: "):
                        events.append(json.loads(line.removeprefix("data: ")))
        except httpx.TransportError:
            pass
        return events

    def kill(self) -> None:
        """End the process at once."""
        self.process.kill()

    @property
    def done(self) -> list[str]:
        """Who was sent something, each time."""
        return [json.loads(line)["to"] for line in lines_of(self.effects)]


def asks_of(events: list[Event]) -> list[Event]:
    """What a run that paused asks."""
    return list(events[-1]["outcome"]["interrupts"])


@contextmanager
def mail_servers(
    nursery: Nursery, folder: Path, *options: str
) -> Iterator[Callable[..., MailServer]]:
    """A function that starts one more process of an example, which may be told its lease.

    Args:
        nursery: the example's.
        folder: where its store and its effects are.
        *options: what its command line takes besides.
    """
    running: list[Forked] = []

    def started(lease: float = LEASE) -> MailServer:
        port = free_port()
        effects = folder / "effects.jsonl"
        log = folder / f"mails-{port}.log"
        arguments = ["--port", str(port), "--effects", str(effects), "--lease", str(lease)]
        arguments += ["--store", f"sqlite:///{folder}/mails.db", *options]
        running.append(nursery.begin(arguments, log))
        url = f"http://127.0.0.1:{port}"
        with httpx.Client(verify=False, trust_env=False) as client:

            def ready() -> bool:
                try:
                    return client.get(f"{url}/readyz").status_code == 200
                except httpx.TransportError:
                    return False

            # The first waits for the nursery to import a framework, which takes seconds of a core,
            # and on a busy machine many more.
            try:
                wait_until(ready, 90)
            except AssertionError as never:
                raise AssertionError(log.read_text()) from never
        return MailServer(url, running[-1], effects)

    try:
        yield started
    finally:
        for process in running:
            process.kill()
