"""Group commit: transactions of SQLite that share a COMMIT, each as if it ran alone."""

import asyncio
import signal
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from agui_bridge.errors import Conflict, StoreError, WritesRefused
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Change, Committed, Expected
from agui_bridge.stores.sqlite import database as group_writer
from agui_bridge.stores.sqlite.store import SqliteStore
from tests.stores.processes import racers
from tests.stores.samples import idle, message, put

PATIENCE = 10.0


@pytest.fixture(autouse=True)
def plenty_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine makes no group smaller."""
    monkeypatch.setattr(group_writer, "LONGEST_GROUP", PATIENCE)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(f"sqlite:///{path}")
    yield store
    await store.aclose()


def key(name: object) -> ThreadKey:
    return ThreadKey("scope", "agent", str(name))


def write(store: SqliteStore, body: Callable[[sqlite3.Connection], Any]) -> asyncio.Future[Any]:
    return asyncio.ensure_future(store._database.write(body))


class Blocking:
    """A transaction that begins, and ends when it is told to."""

    def __init__(self, store: SqliteStore) -> None:
        self._begun, self._go_on = threading.Event(), threading.Event()
        self.done = write(store, self._body)

    def _body(self, _connection: sqlite3.Connection) -> None:
        self._begun.set()
        assert self._go_on.wait(PATIENCE)

    async def begun(self) -> None:
        assert await asyncio.to_thread(self._begun.wait, PATIENCE)

    def end(self) -> None:
        self._go_on.set()


@asynccontextmanager
async def held(store: SqliteStore) -> AsyncIterator[None]:
    """Keep the writer busy; what is begun in the block waits, and is one group afterwards."""
    blocking = Blocking(store)
    await blocking.begun()
    try:
        yield
        # Tasks reach the queue when the loop turns.
        await asyncio.sleep(0)
    finally:
        blocking.end()


def start(store: SqliteStore, names: range, **change: Any) -> list[asyncio.Future[Committed]]:
    return [asyncio.ensure_future(put(store, idle(key(name)), **change)) for name in names]


async def traced(store: SqliteStore) -> list[str]:
    """What the writer executes from now on."""
    statements: list[str] = []
    await write(store, lambda connection: connection.set_trace_callback(statements.append))
    statements.clear()
    return statements


async def stored(store: SqliteStore) -> set[str]:
    return {row.record.key.thread for row in await store.list_threads("scope", "agent")}


# --- sharing ---


async def test_commits_that_wait_together_share_a_commit(store: SqliteStore) -> None:
    statements = await traced(store)
    async with held(store):
        commits = start(store, range(20))
    done = await asyncio.gather(*commits)

    assert statements.count("COMMIT") == 1
    assert {committed.record.key.thread for committed in done} == await stored(store)
    assert len(await stored(store)) == 20


async def test_a_commit_that_is_alone_has_no_savepoint(store: SqliteStore) -> None:
    statements = await traced(store)
    await put(store, idle(key(1)))
    await put(store, idle(key(2)))

    assert statements.count("BEGIN IMMEDIATE") == statements.count("COMMIT") == 2
    assert not [statement for statement in statements if "SAVEPOINT" in statement]


async def test_a_commit_sees_those_before_it_in_the_group(store: SqliteStore) -> None:
    first = await put(store, idle(key(1)))
    statements = await traced(store)
    async with held(store):
        chain = [
            asyncio.ensure_future(
                put(store, idle(key(1)), Expected(version=first.record.version + number))
            )
            for number in range(10)
        ]
    versions = [committed.record.version for committed in await asyncio.gather(*chain)]

    assert versions == list(range(first.record.version + 1, first.record.version + 11))
    assert statements.count("COMMIT") == 1


@pytest.mark.parametrize(
    ("bound", "value", "commits"), [("MOST_TOGETHER", 4, 2), ("LONGEST_GROUP", 0.0, 8)]
)
async def test_a_group_is_bounded_for_the_sake_of_other_processes(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, bound: str, value: float, commits: int
) -> None:
    monkeypatch.setattr(group_writer, bound, value)
    statements = await traced(store)
    async with held(store):
        waiting = start(store, range(7))
    await asyncio.gather(*waiting)

    assert statements.count("COMMIT") == commits


async def test_an_acknowledgement_comes_after_the_commit(store: SqliteStore) -> None:
    async with held(store):
        commits = start(store, range(2))
        await asyncio.sleep(0)
        last = Blocking(store)
    await last.begun()

    # Both have been carried out.
    assert await stored(store) == set()
    assert not any(commit.done() for commit in commits)
    last.end()
    await asyncio.gather(*commits)
    assert await stored(store) == {"0", "1"}


# --- failing alone ---


async def test_a_conflict_fails_alone(store: SqliteStore) -> None:
    statements = await traced(store)
    async with held(store):
        commits = start(store, range(3)) + start(store, range(1)) + start(store, range(3, 5))
    results = await asyncio.gather(*commits, return_exceptions=True)

    assert [type(result) for result in results] == [Committed] * 3 + [Conflict] + [Committed] * 2
    assert statements.count("COMMIT") == 1
    assert await stored(store) == {"0", "1", "2", "3", "4"}


async def test_what_failed_half_way_leaves_nothing(store: SqliteStore) -> None:
    async with held(store):
        commits = start(store, range(2))
        commits += start(store, range(2, 3), messages=(message("m", 2**63),))
        commits += start(store, range(3, 4))
    results = await asyncio.gather(*commits, return_exceptions=True)

    assert isinstance(results[2], OverflowError)
    assert await stored(store) == {"0", "1", "3"}


async def test_an_error_of_the_disk_fails_alone(store: SqliteStore) -> None:
    def fill_up(connection: sqlite3.Connection) -> None:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 20}")

    await write(store, fill_up)
    async with held(store):
        commits = start(store, range(1))
        big = tuple(message(f"m{n}", n, content="x" * 10_000) for n in range(50))
        commits += start(store, range(1, 2), messages=big)
        commits += start(store, range(2, 3))
    results = await asyncio.gather(*commits, return_exceptions=True)

    assert [type(result) for result in results] == [Committed, WritesRefused, Committed]
    assert await stored(store) == {"0", "2"}


async def test_a_commit_that_fails_fails_all_who_share_it(store: SqliteStore) -> None:
    await put(store, idle(key(0)))

    def orphan(connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA defer_foreign_keys = ON")
        connection.execute("INSERT INTO agui_receipts VALUES ('nobody', 'a', 't', 'b', '{}')")

    async with held(store):
        commits = start(store, range(3))
        commits.append(write(store, orphan))
    results = await asyncio.gather(*commits, return_exceptions=True)

    # The conflict too: it may have come of what another wrote, which is gone.
    assert [type(result) for result in results] == [StoreError] * 4
    assert await stored(store) == {"0"}
    await put(store, idle(key(1)))


# --- cancellations and crashes ---


async def test_who_is_cancelled_in_a_group_harms_nobody_else(store: SqliteStore) -> None:
    async with held(store):
        queued = start(store, range(5))
        await asyncio.sleep(0)
        queued[2].cancel()
    results = await asyncio.gather(*queued, return_exceptions=True)

    assert isinstance(results[2], asyncio.CancelledError)
    assert await stored(store) == {"0", "1", "3", "4"}


async def test_who_is_cancelled_after_his_turn_is_stored_with_the_group(store: SqliteStore) -> None:
    async with held(store):
        first, second = start(store, range(2))
        await asyncio.sleep(0)
        last = Blocking(store)
    await last.begun()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    last.end()
    await second

    assert first.cancelled()
    assert await stored(store) == {"0", "1"}


def test_a_crash_before_the_commit_loses_all_that_share_it_and_none_before(path: Path) -> None:
    with racers("group", f"sqlite:///{path}", 1) as (process,):
        acknowledged, lost = int(process.hear()), int(process.hear())
        assert process.wait() == -signal.SIGKILL

    assert (acknowledged, lost) == (10, 10)
    with closing(sqlite3.connect(path)) as file:
        threads = {int(name) for (name,) in file.execute("SELECT thread FROM agui_threads")}
    assert threads == set(range(acknowledged))


async def test_a_loop_that_is_gone_takes_nobody_along(store: SqliteStore) -> None:
    async def leave() -> Blocking:
        blocking = Blocking(store)
        await blocking.begun()
        return blocking

    blocking = await asyncio.to_thread(asyncio.run, leave())
    waiting = start(store, range(1))
    await asyncio.sleep(0)
    blocking.end()
    await asyncio.gather(*waiting)

    assert await stored(store) == {"0"}


# --- other processes ---


async def test_a_stream_of_commits_lets_another_process_in(store: SqliteStore, path: Path) -> None:
    others, over = 0, time.monotonic() + PATIENCE
    enough = asyncio.Event()

    async def commit_all_the_time(name: int) -> None:
        committed = await put(store, idle(key(name)))
        while not enough.is_set():
            expected = Expected(version=committed.record.version)
            committed = await store.commit(
                key(name), Change(idle(key(name))), expected, f"{name}-{time.monotonic_ns()}"
            )

    def write_beside() -> None:
        nonlocal others
        with closing(sqlite3.connect(path, isolation_level=None, timeout=PATIENCE)) as other:
            while others < 5 and time.monotonic() < over:
                other.execute("BEGIN IMMEDIATE")
                other.execute("COMMIT")
                others += 1

    async with asyncio.TaskGroup() as group:
        for name in range(16):
            group.create_task(commit_all_the_time(name))
        try:
            await asyncio.to_thread(write_beside)
        finally:
            enough.set()

    assert others == 5
