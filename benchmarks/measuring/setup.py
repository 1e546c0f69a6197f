"""What every scenario is given: the plan, and servers that are started once and shared."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from benchmarks.contenders.process import Server
from benchmarks.contenders.stores import own_stores
from benchmarks.measuring.plan import Plan


class Setup:
    """One run of the benchmarks; leaving the block ends the servers.

    Args:
        plan: how much is measured.
        peers: whether other servers are measured too.
        cpu: whether streams are measured by the CPU time of their servers: of use on a machine
            that others keep busy, where the time on the clock says little.
        servers: whether stores are measured on the PostgreSQL and Redis of this machine; those
            that an environment variable names are measured anyway.
    """

    def __init__(
        self, plan: Plan, *, peers: bool, cpu: bool = False, servers: bool = False
    ) -> None:
        self.plan = plan
        self.cpu = cpu
        self._local = servers
        self._others: dict[str, str] | None = None
        self.contenders = ("bridge", "starlette", "raw", *(("pydantic-ai",) if peers else ()))
        self._stack = contextlib.ExitStack()
        self._running: dict[tuple[str, str | None], Server] = {}

    def __enter__(self) -> Setup:
        folder = self._stack.enter_context(tempfile.TemporaryDirectory())
        self._sqlite = f"sqlite:///{Path(folder) / 'bench.db'}"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def streaming(self) -> dict[str, Server]:
        """A server for each contender."""
        return self._servers({name: (name, None) for name in self.contenders})

    def stores(self) -> dict[str, Server]:
        """A server of ours for each store, by the store's name, and the peer's."""
        wanted: dict[str, tuple[str, str | None]]
        wanted = {name: ("bridge", url) for name, url in self._urls().items()}
        if "pydantic-ai" in self.contenders:
            wanted["pydantic-ai"] = ("pydantic-ai", None)
        return self._servers(wanted)

    def bare(self) -> dict[str, Server]:
        """A bare server for each store, by the store's name (see `benchmarks.contenders.bare`)."""
        urls = {**self._urls(), "SQLite": f"{self._sqlite}.bare"}
        return self._servers({name: ("bare", url) for name, url in urls.items()})

    def chatting(self) -> Server:
        """A server of ours whose agent is a chat model."""
        return self._servers({"chat": ("chatting", "memory:")})["chat"]

    def sealing(self) -> dict[str, Server]:
        """A server of ours with the audit chain for each store, by the store's name."""
        return self._servers({name: ("sealing", url) for name, url in self._urls().items()})

    def _urls(self) -> dict[str, str]:
        if self._others is None:
            self._others = self._stack.enter_context(own_stores(local=self._local))
        return {"memory": "memory:", "SQLite": self._sqlite, **self._others}

    def _servers(self, wanted: Mapping[str, tuple[str, str | None]]) -> dict[str, Server]:
        """Start what does not run yet, all at once."""
        started = []
        for contender, store in wanted.values():
            if (contender, store) not in self._running:
                options: list[str | int] = ["--events", self.plan.events]
                options += ["--store", store] if store is not None else []
                server = self._running[contender, store] = Server(contender, *options)
                self._stack.callback(server.close)
                started.append(server)
        for server in started:
            server.await_start()
        return {name: self._running[which] for name, which in wanted.items()}
