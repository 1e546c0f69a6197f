"""Opening a SQLite file: addresses, migrations, and files that are something else."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agui_bridge.errors import ConfigurationError, SchemaMismatch, StoreError
from agui_bridge.stores.memory import MemoryStore
from agui_bridge.stores.open import open_store
from agui_bridge.stores.sql.rows import VERSION_TABLE, revisions
from agui_bridge.stores.sqlite.store import SqliteStore
from tests.stores.processes import racers
from tests.stores.samples import KEY, idle, put

HEAD = list(revisions("sqlite"))[-1]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def url(path: Path) -> str:
    return f"sqlite:///{path}"


async def open_and_close(url: str, *, migrate: bool = True) -> None:
    await (await SqliteStore.open(url, migrate=migrate)).aclose()


def execute(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        return file.execute(statement).fetchall()


def leave(path: Path, content: bytes | None) -> None:
    if content is not None:
        path.write_bytes(content)


def found(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


# --- migrations ---


async def test_a_second_start_changes_nothing(url: str, path: Path) -> None:
    store = await SqliteStore.open(url)
    done = await put(store, idle())
    await store.aclose()
    before = execute(path, "SELECT * FROM sqlite_master")

    store = await SqliteStore.open(url)
    assert (await store.load(KEY)).record == done.record
    await store.aclose()
    assert execute(path, "SELECT * FROM sqlite_master") == before


async def test_a_store_lives_beside_other_tables(url: str, path: Path) -> None:
    execute(path, "CREATE TABLE alembic_version (version_num TEXT)")
    execute(path, "INSERT INTO alembic_version VALUES ('of the host')")
    await open_and_close(url)

    assert execute(path, "SELECT * FROM alembic_version") == [("of the host",)]


async def test_processes_may_start_at_once_on_a_new_file(url: str, path: Path) -> None:
    with racers("open", url, 5) as processes:
        assert {process.hear() for process in processes} == {"ready"}
        for process in processes:
            process.tell("go")
        assert [process.hear() for process in processes] == ["open"] * 5
    assert execute(path, f"SELECT * FROM {VERSION_TABLE}") == [(HEAD,)]


async def test_stores_of_one_process_may_open_at_once_on_new_files(tmp_path: Path) -> None:
    urls = [f"sqlite:///{tmp_path / f'{n}.db'}" for n in (0, 0, 1, 2)]

    await asyncio.gather(*map(open_and_close, urls))


async def test_a_migration_that_fails_leaves_nothing(url: str, path: Path) -> None:
    execute(path, "CREATE TABLE agui_receipts (taken INTEGER)")

    with pytest.raises(StoreError):
        await open_and_close(url)
    assert execute(path, "SELECT name FROM sqlite_master") == [("agui_receipts",)]


@pytest.mark.parametrize("migrate", [True, False])
async def test_a_newer_schema_is_refused(url: str, path: Path, migrate: bool) -> None:
    await open_and_close(url)
    execute(path, f"UPDATE {VERSION_TABLE} SET version_num = '9999'")

    with pytest.raises(SchemaMismatch, match=r"9999.*upgrade agui-bridge"):
        await open_and_close(url, migrate=migrate)


async def test_a_check_creates_nothing(url: str, path: Path) -> None:
    for content in (None, b""):
        leave(path, content)
        with pytest.raises(SchemaMismatch, match="agui-bridge migrate"):
            await open_and_close(url, migrate=False)
        assert found(path) == content


# --- addresses ---


async def test_a_file_that_is_no_database_is_refused_and_left_alone(url: str, path: Path) -> None:
    diary = b"Dear diary, " * 500
    leave(path, diary)

    with pytest.raises(ConfigurationError, match="no SQLite database"):
        await open_and_close(url)
    assert found(path) == diary


async def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no folder"):
        await open_and_close(f"sqlite:///{tmp_path}/nowhere/store.db")


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite:///:memory:"])
async def test_a_database_in_memory_is_refused_with_the_store_to_use(url: str) -> None:
    with pytest.raises(ConfigurationError, match="`memory:`"):
        await open_store(url)


@pytest.mark.parametrize(
    "url",
    ["sqlite:store.db", "sqlite://store.db", "sqlite:///a.db?mode=ro", "sqlite+aiosqlite:///a.db"],
)
async def test_a_malformed_address_is_refused_with_the_right_form(url: str) -> None:
    with pytest.raises(ConfigurationError, match="sqlite:///"):
        await open_store(url)


@pytest.mark.parametrize("url", ["", "mysql://host/db", "store.db", "memory", "memory:x"])
async def test_another_kind_of_store_is_refused_with_those_there_are(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"memory:.*sqlite:///path"):
        await open_store(url)


async def test_an_address_opens_its_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(await open_store("memory:"), MemoryStore)

    monkeypatch.chdir(tmp_path)
    for url in ("sqlite:///relative.db", f"sqlite:///{tmp_path}/with space, %20, #.db"):
        store = await open_store(url)
        assert isinstance(store, SqliteStore)
        await put(store, idle())
        await store.aclose()
    assert (tmp_path / "relative.db").exists()
    assert (tmp_path / "with space, %20, #.db").exists()
