"""Agent Framework's AGUIChatClient, as seen from a test: programs that say, answer and stop."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from matrix.__main__ import ENVIRONMENTS
from tests.e2e.lines import HERE, Lines, Reply
from tests.servers.peers.peer import python_of
from tests.support import unavailable

__all__ = ["Program", "Response", "client_process"]

Json = dict[str, Any]


@contextmanager
def client_process() -> Iterator[Lines]:
    """A process with the client in it."""
    python = python_of("agent_framework", ENVIRONMENTS)
    if not python.exists():
        unavailable("agent-framework-ag-ui", "`make e2e` sets its environment up")
    process = Lines([str(python), str(HERE / "agui_chat_client.py")])
    try:
        yield process
    finally:
        process.close()


@dataclass(frozen=True, slots=True)
class Response:
    """What a program was given.

    Attributes:
        text: what the agent said.
        said: its messages that have a text: id, role and text.
        results: what tools returned: call id and result.
        errors: messages of errors.
        outcome: the outcome's type.
        interrupts: the questions that are open.
    """

    text: str
    said: list[Json]
    results: list[list[str]]
    errors: list[str]
    outcome: str
    interrupts: list[Json]


class Program:
    """A program with a client on one thread.

    Args:
        process: where it runs.
        url: the client's endpoint.
        thread: the thread's id.
        agent: whether it uses an `Agent` with a session, else the client alone.
    """

    def __init__(self, process: Lines, url: str, thread: str, *, agent: bool = False) -> None:
        self._process, self._name = process, secrets.token_hex(6)
        self._send("open", url=url, threadId=thread, agent=agent).result()

    def say(self, text: str, *, state: Json | None = None) -> Response:
        """Send a message."""
        return self.tell({"role": "user", "text": text}, state=state)

    def tell(self, *messages: Json, state: Json | None = None) -> Response:
        """Send messages, each with role and text, and an id if it has one."""
        return self.take(self._send("run", messages=list(messages), state=state))

    def answer(self, *entries: Json) -> Response:
        """Answer what was asked."""
        return self.take(self._send("run", messages=[], resume=list(entries)))

    def listen(self) -> Response:
        """Send nothing, and take what comes."""
        return self.take(self._send("run", messages=[]))

    def begin(self, text: str) -> Reply:
        """Send a message without waiting for the end."""
        return self._send("run", messages=[{"role": "user", "text": text}])

    def begin_to_listen(self) -> Reply:
        """Send nothing, without waiting for the end."""
        return self._send("run", messages=[])

    def stop(self) -> None:
        """End what runs."""
        self._send("stop").result()

    def take(self, reply: Reply) -> Response:
        """Wait for the end of what was begun."""
        return Response(**reply.result())

    def close(self) -> None:
        """Close its connections."""
        self._send("close").result()

    def _send(self, do: str, **command: Any) -> Reply:
        return self._process.send(do, program=self._name, **command)
