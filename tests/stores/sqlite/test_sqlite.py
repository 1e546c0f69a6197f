"""What is SQLite's own: the file's settings, failures of the disk, crashes."""

import asyncio
import re
import sqlite3
import threading
import time
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agui_bridge.errors import Conflict, StoreUnavailable
from agui_bridge.stores.base import Change, Expected
from agui_bridge.stores.sqlite import beside_threads, statements
from agui_bridge.stores.sqlite.database import SqliteDatabase
from agui_bridge.stores.sqlite.store import SqliteStore
from tests.stores.processes import racers
from tests.stores.samples import KEY, OTHER, idle, message, put, write_id


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def url(path: Path) -> str:
    return f"sqlite:///{path}"


@pytest.fixture
async def store(url: str) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(url)
    yield store
    await store.aclose()


def database_of(store: SqliteStore) -> SqliteDatabase:
    database = store._database
    assert isinstance(database, SqliteDatabase)
    return database


async def set_on_writer(store: SqliteStore, pragma: str) -> None:
    """Change a setting of the connection that writes."""
    lane = database_of(store)._writer

    def body(connection: sqlite3.Connection) -> None:
        connection.execute(pragma)

    await lane.run(body)


# --- settings ---


@pytest.mark.parametrize(
    ("pragma", "value"),
    [("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1), ("busy_timeout", 5000)],
)
async def test_a_pragma_is_in_force(store: SqliteStore, pragma: str, value: object) -> None:
    def body(connection: sqlite3.Connection) -> object:
        return connection.execute(f"PRAGMA {pragma}").fetchone()[0]

    database = database_of(store)
    assert [await database.read(body), await database.write(body)] == [value, value]


async def test_a_read_is_one_snapshot_and_a_write_locks_at_once(
    store: SqliteStore, path: Path
) -> None:
    await put(store, idle(version=1))

    def versions_around(change: str) -> Any:
        def body(connection: sqlite3.Connection) -> list[object]:
            query = "SELECT version FROM agui_threads"
            before = connection.execute(query).fetchone()[0]
            with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as other:
                other.execute(change)
            return [before, connection.execute(query).fetchone()[0]]

        return body

    database = database_of(store)
    change = "UPDATE agui_threads SET version = 2"
    assert await database.read(versions_around(change)) == [1, 1]
    with pytest.raises(StoreUnavailable, match="locked"):
        await database.write(versions_around(change))


async def test_the_queries_that_run_all_the_time_use_indexes(store: SqliteStore) -> None:
    plans = {
        "load": statements.load(2, messages=True),
        "head": statements.HEAD,
        "history": statements.HISTORY,
        "positions": statements.positions(2),
        "stops": statements.stops(2),
        "leases": statements.LEASES_OVER,
        "batches": statements.BATCHES_EXPIRED,
        "old": statements.OLD,
        "threads": statements.THREADS,
        "tool": statements.list_interrupts(frozenset({"status", "tool", "after"}), unexpired=True),
        "new to channels": beside_threads.UNANNOUNCED,
        "over for channels": beside_threads.OVER,
        "count": statements.count_interrupts(frozenset({"status"}), unexpired=True),
        "open": statements.list_interrupts(frozenset({"status"}), unexpired=True),
    }
    # What a statement has computed itself may be scanned, and an index of what is wanted alone.
    own = ("CONSTANT ROW", "wanted", "found", "agui_interrupts_over")

    def body(connection: sqlite3.Connection) -> list[str]:
        scans = []
        for name, statement in plans.items():
            values = dict.fromkeys(re.findall(r":(\w+)", statement), 1)
            plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)
            scans += [f"{name}: {step[-1]}" for step in plan if step[-1].startswith("SCAN")]
        return [scan for scan in scans if not scan.endswith(own)]

    assert await database_of(store).read(body) == []


# --- failures ---


async def test_a_full_disk_is_an_unavailable_store_and_harms_nothing(store: SqliteStore) -> None:
    done = await put(store, idle(state="before"), messages=(message("m", 1),))
    await set_on_writer(store, "PRAGMA max_page_count = 1")
    big = tuple(message(f"m{n}", n, content="x" * 10_000) for n in range(2, 50))

    with pytest.raises(StoreUnavailable, match="full"):
        await put(store, idle(state="after"), Expected(version=1000), messages=big)

    loaded = await store.load(KEY, messages=True)
    assert (loaded.record, loaded.messages) == (done.record, (message("m", 1),))
    # The limit went with the connection that met it: there is space again.
    await put(store, idle(state="after"), Expected(version=1000), messages=big)
    assert len((await store.load(KEY, messages=True)).messages) == 49


async def test_a_read_only_file_is_an_unavailable_store_that_can_be_read(
    store: SqliteStore,
) -> None:
    done = await put(store, idle())
    # Permissions don't bind a superuser; this makes SQLite answer as it does without them.
    await set_on_writer(store, "PRAGMA query_only = ON")

    with pytest.raises(StoreUnavailable, match="readonly"):
        await put(store, idle(), Expected(version=1000))
    assert (await store.load(KEY)).record == done.record


async def test_a_lock_that_is_held_too_long_is_an_unavailable_store(
    store: SqliteStore, path: Path
) -> None:
    await put(store, idle())
    await set_on_writer(store, "PRAGMA busy_timeout = 20")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreUnavailable, match="locked"):
        await put(store, idle(), Expected(version=1000))
    assert (await store.load(KEY)).record is not None
    other.close()
    await put(store, idle(), Expected(version=1000))


async def test_who_waits_behind_a_held_lock_gives_up_as_well(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(store, idle())
    monkeypatch.setattr("agui_bridge.stores.sqlite.database.BUSY_SECONDS", 0.1)
    await set_on_writer(store, "PRAGMA busy_timeout = 150")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    writes = [put(store, idle(), Expected(version=1000)) for _ in range(20)]
    results = await asyncio.wait_for(asyncio.gather(*writes, return_exceptions=True), 5)
    other.close()

    assert {type(result) for result in results} == {StoreUnavailable}
    assert sum("no turn" in str(result) for result in results) == 19


async def test_an_error_shows_no_statement_and_no_data(store: SqliteStore) -> None:
    await set_on_writer(store, "PRAGMA query_only = ON")

    with pytest.raises(StoreUnavailable) as caught:
        await put(store, idle(state="secret"))

    error: BaseException | None = caught.value
    while error is not None:
        assert "secret" not in str(error)
        assert "INSERT" not in str(error)
        error = error.__cause__


async def test_a_closed_store_is_unavailable(url: str) -> None:
    store = await SqliteStore.open(url)
    await store.aclose()
    await store.aclose()

    with pytest.raises(StoreUnavailable, match="closed"):
        await store.load(KEY)


async def test_closing_waits_for_a_write_whose_caller_is_gone(url: str) -> None:
    store = await SqliteStore.open(url)
    task = asyncio.ensure_future(put(store, idle()))
    await asyncio.sleep(0)
    task.cancel()
    await store.aclose()

    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
        assert file.execute("SELECT count(*) FROM agui_threads").fetchone() in [(0,), (1,)]


# --- interruptions ---


async def test_a_commit_that_is_cancelled_in_its_middle_still_takes_place(url: str) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def clock() -> float:
        # Transactions ask for the time after they have begun.
        begun.set()
        assert go_on.wait(10)
        return time.time()

    store = await SqliteStore.open(url, clock=clock)
    tasks = [asyncio.ensure_future(put(store, idle(key))) for key in (KEY, OTHER)]
    assert await asyncio.to_thread(begun.wait, 10)
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [asyncio.CancelledError] * 2
    go_on.set()

    await put(store, idle(replace(OTHER, thread="next")))
    assert (await store.load(KEY)).record is not None
    assert (await store.load(OTHER)).record is None, "it was cancelled before its turn"
    await store.aclose()


async def test_a_cancelled_commit_is_wholly_there_or_not_at_all(store: SqliteStore) -> None:
    await put(store, idle(version=0, state=0))
    whole = await turns_until_done(asyncio.ensure_future(count_up(store)))
    acknowledged, cancelled = 1, 0
    for n in range(200):
        task = asyncio.ensure_future(count_up(store))
        # From before the commit starts until after it is done; every tenth is left alone.
        if n % 10:
            await turns_until_done(task, most=whole * n // 100)
        else:
            await task
        task.cancel()
        try:
            await task
            acknowledged += 1
        except asyncio.CancelledError:
            cancelled += 1
        loaded = await store.load(KEY, messages=True)
        assert loaded.record is not None
        assert loaded.record.version == loaded.record.state == len(loaded.messages)
        assert loaded.record.version >= acknowledged

    assert cancelled
    await count_up(store)


async def turns_until_done(task: asyncio.Task[None], most: int = 1_000_000) -> int:
    """Let the loop turn until a task is done, so often at most; gives how often it was."""
    for turn in range(most):
        if task.done():
            return turn
        await asyncio.sleep(0)
    return most


async def count_up(store: SqliteStore) -> None:
    """Commit a version, a state and a message that belong together."""
    while True:
        record = (await store.load(KEY)).record
        assert record is not None
        number = record.version + 1
        change = Change(replace(record, state=number), messages=(message(f"m{number}", number),))
        # A commit that was cancelled before this one may still be under way.
        with suppress(Conflict):
            await store.commit(KEY, change, Expected(version=record.version), write_id())
            return


@pytest.mark.parametrize("acknowledged", [1, 20, 100])
async def test_what_a_killed_process_had_acknowledged_is_there(url: str, acknowledged: int) -> None:
    with racers("fill", url, 1) as (process,):
        last = [int(process.hear()) for _ in range(acknowledged)][-1]
        process.kill()
        rest = process.rest()

    store = await SqliteStore.open(url)
    loaded = await store.load(KEY, messages=True)
    await store.aclose()
    assert loaded.record is not None
    assert loaded.record.version >= (int(rest[-1]) if rest else last)
    assert [row.position for row in loaded.messages] == list(range(loaded.record.version + 1))


async def test_what_a_process_writes_itself_does_not_have_it_look_for_stops(
    store: SqliteStore, url: str
) -> None:
    other = await SqliteStore.open(url)
    seen = await database_of(store).last_written_elsewhere()
    for number in range(3):
        await put(store, idle(key=replace(KEY, thread=f"own-{number}")))
        assert await database_of(store).last_written_elsewhere() == seen
        await put(other, idle(key=replace(KEY, thread=f"other-{number}")))
        latest = await database_of(store).last_written_elsewhere()
        assert latest != seen
        seen = latest
    await other.aclose()
