"""The approval target's process, as the end-to-end tests look at it."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import httpx

from agui_bridge import Bridge
from examples.guide import serve_here
from tests.support import target as support
from tests.support.waiting import wait_until

__all__ = ["Target", "serve_for_target"]

Json = dict[str, Any]


def serve_for_target(make_bridge: Callable[[str, Path, float], Bridge]) -> None:
    """Serve another bridge by the command line that `Target` gives to its module.

    Args:
        make_bridge: takes the store's URL, the file of effects, and the seconds of a lease.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--effects", type=Path)
    parser.add_argument("--store")
    parser.add_argument("--lease", type=float)
    given = parser.parse_args()
    serve_here(make_bridge(given.store, given.effects, given.lease), given.port, lambda _: None)


class Target(support.Target):
    """One process of the target, shared by tests that each have names and threads of their own."""

    @property
    def url(self) -> str:
        """Where clients find the agent."""
        return f"http://127.0.0.1:{self.port}/agents/target"

    @property
    def copilotkit(self) -> str:
        """What CopilotKit's client takes as `runtimeUrl`."""
        return f"http://127.0.0.1:{self.port}/copilotkit"

    def executed(self, name: str) -> list[Json]:
        """The executions of the tool for a name, in order."""
        return [line for line in self.effects if line["to"].startswith(f"{name}-")]

    def statuses(self, thread: str) -> list[str]:
        """What has become of each of a thread's interrupts, once nothing runs.

        What an agent says is seen before its run has ended, and its question is closed.
        """
        self.settled(thread)
        return [interrupt["status"] for interrupt in self.audit(thread)]

    def stop(self, thread: str, **options: Any) -> Json:
        """Stop a thread and wait for the result."""
        answer = self.client.post(f"/agents/target/threads/{thread}/stop", json=options or None)
        assert answer.status_code == httpx.codes.OK, answer.text
        result: Json = answer.json()
        return result

    def settled(self, thread: str) -> Json:
        """The thread, once nothing runs on it."""
        wait_until(lambda: self.thread(thread).get("status", "running") != "running")
        return self.thread(thread)

    def wait_for_expiry(self, thread: str) -> None:
        """Wait until nothing on a thread can be answered any more."""
        wait_until(lambda: not self.thread(thread)["interrupts"])

    def __enter__(self) -> Self:
        return self

    def close(self) -> None:
        """End the process; it must have logged no failure."""
        super().close()
        assert "Traceback" not in self.log, self.log
