"""A fault as data and a few lines that bring it about; many of them are played at once."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.faults.seen import Seen
from tests.support.postgres import execute, server
from tests.support.proxy import Proxy, proxy_in_a_thread
from tests.support.redis_server import RedisServer
from tests.support.target import Answered, Target, approve
from tests.support.waiting import wait_until

__all__ = ["FAULTY", "LEASE", "Case", "Replicas", "Scenario", "play"]

LEASE: Final = 2.0
FAULTY: Final = "tests.support.fault_target"


@dataclass(frozen=True)
class Replicas:
    """Where scenarios are played.

    Attributes:
        store: which one.
        url: its address.
        healthy: the replica that nothing happens to.
        own: the server, where it is the tests' own and may be restarted.
    """

    store: str
    url: str
    healthy: Target
    own: RedisServer | None = None


@dataclass
class Case:
    """One scenario while it is played.

    Attributes:
        replicas: where it is played.
        faulty: the replica that it happens to.
        folder: where they give each other signs.
        thread: a thread of this scenario alone.
        proxy: between the faulty replica and the store, if the scenario has one.
        in_proxy: calls a method of the proxy in its own thread.
        answer: approves what the thread asks.
    """

    replicas: Replicas
    faulty: Target
    folder: Path
    thread: str
    proxy: Proxy
    in_proxy: Callable[[Callable[[], None]], None]
    pool: ThreadPoolExecutor
    answer: dict[str, Any] = field(default_factory=dict)

    @property
    def healthy(self) -> Target:
        """The replica that nothing happens to."""
        return self.replicas.healthy

    def ask(self, target: Target) -> None:
        """Begin the thread: it waits for one approval."""
        (interrupt,) = target.send(self.thread, f"send {self.thread}").interrupts
        self.answer = approve(interrupt)

    def approve_at(self, target: Target) -> Future[Answered]:
        """Send the approval to a replica, beside what else is done."""
        return self.pool.submit(target.send, self.thread, None, [self.answer])

    def approve_and_reach(self) -> Future[Answered]:
        """Send it to the faulty replica, and return once that waits at its point."""
        told = self.approve_at(self.faulty)
        wait_until((self.folder / "reached").exists)
        return told

    def go(self) -> None:
        """Let the faulty replica go on."""
        (self.folder / "go").touch()

    def wait_for_failure(self) -> None:
        """Wait until a commit of the faulty replica has failed."""
        wait_until((self.folder / "failed").exists)

    def set_clock(self, seconds: float) -> None:
        """Put the faulty replica's clock ahead from now on."""
        file = self.folder / "clock"
        file.with_suffix(".new").write_text(str(seconds))
        file.with_suffix(".new").replace(file)

    def take_store_down(self) -> None:
        """End the store's server; one that is shared ends the faulty replica's sessions only."""
        if self.replicas.own is not None:
            self.replicas.own.kill()
            return
        execute(
            server().dsn,
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            f" WHERE application_name = '{self.thread}'",
        )

    def bring_store_up(self) -> None:
        """Start it again."""
        if self.replicas.own is not None:
            self.replicas.own.start()

    def wait_for_status(self, status: str) -> None:
        """Wait until the thread has a status."""
        wait_until(lambda: self.healthy.thread(self.thread)["status"] == status)


@dataclass(frozen=True)
class Scenario:
    """A fault.

    Attributes:
        name: what happens.
        play: brings it about; gives what the client of the faulty replica gets.
        at: the point of the faulty replica; see `tests.support.fault_target`.
        do: what happens there.
        options: more of the faulty replica's command line.
        lease: of the faulty replica, in seconds.
        expires_in: seconds until the ask expires; then the faulty replica asks.
        proxied: whether the faulty replica reaches its store through a proxy.
    """

    name: str
    play: Callable[[Case], Answered]
    at: str = ""
    do: str = "wait"
    options: Mapping[str, str | float] = field(default_factory=dict)
    lease: float = LEASE
    expires_in: float | None = None
    proxied: bool = False


def play(replicas: Replicas, scenarios: Sequence[Scenario]) -> dict[str, Seen]:
    """Play scenarios, all at once; gives what was seen by their names."""
    with ExitStack() as stack:
        # Two for each: what it plays, and a client that waits meanwhile.
        pool = stack.enter_context(ThreadPoolExecutor(3 * len(scenarios)))
        cases = [_prepare(replicas, scenario, stack, pool) for scenario in scenarios]
        for case in cases:
            case.faulty.await_health()
        seen = pool.map(_play, cases, scenarios)
        return {scenario.name: found for scenario, found in zip(scenarios, seen, strict=True)}


def _prepare(
    replicas: Replicas, scenario: Scenario, stack: ExitStack, pool: ThreadPoolExecutor
) -> Case:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    url, proxy = replicas.url, Proxy(0)
    in_proxy: Callable[[Callable[[], None]], None] = _no_proxy
    if scenario.proxied:
        port = int(url.partition("127.0.0.1:")[2].partition("/")[0])
        proxy, in_proxy = stack.enter_context(proxy_in_a_thread(port))
        url = url.replace(f"127.0.0.1:{port}", f"127.0.0.1:{proxy.port}")
    thread = f"fault-{os.urandom(6).hex()}"
    if replicas.store == "postgres":
        url += f"&application_name={thread}"
    options = ["--fault-at", scenario.at, "--fault-do", scenario.do, "--signals", str(folder)]
    options += ["--clock", str(folder / "clock")]
    for name, value in scenario.options.items():
        options += [f"--{name}", str(value)]
    faulty = Target(
        replicas.healthy.effects_file.parent,
        store=url,
        lease=scenario.lease,
        expires_in=scenario.expires_in,
        module=FAULTY,
        options=options,
        wait=False,
    )
    stack.callback(faulty.close)
    return Case(replicas, faulty, folder, thread, proxy, in_proxy, pool)


def _no_proxy(_: Callable[[], None]) -> None:
    raise AssertionError("this scenario has no proxy")


def _play(case: Case, scenario: Scenario) -> Seen:
    case.ask(case.healthy if scenario.expires_in is None else case.faulty)
    client = scenario.play(case)
    return Seen.after(client, case.healthy, case.thread, case.answer)
