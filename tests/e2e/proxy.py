"""`agui-bridge proxy` as a process, as the end-to-end tests look at it."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.target import Target
from tests.support.ports import free_port

__all__ = ["Proxy"]


class Proxy(Target):
    """One process of the proxy; its agent is called as the target's, whose clients it can have.

    Args:
        folder: where its log lies, and by default its store.
        upstream: the endpoint's address.
        effects: where the endpoint's tool appends its executions.
        options: further options of the command line.
        port: where it listens; by default any free one.
    """

    def __init__(
        self, folder: Path, upstream: str, effects: Path, *options: str, port: int | None = None
    ) -> None:
        self.effects_file = effects
        self.store = f"sqlite:///{folder / 'proxy.db'}"
        self.port = port or free_port()
        arguments = ["proxy", upstream, "--name", "target"]
        arguments += ["--port", str(self.port), "--store", self.store, *options]
        self._begin(folder, "agui_bridge.cli", arguments)
        self.await_health()
