"""The numbered files make the same tables in both databases, and bring older ones up to date."""

import asyncio
import re
from pathlib import Path

import pytest

from agui_bridge.errors import SchemaMismatch, StoreError
from agui_bridge.stores.sql import rows
from agui_bridge.stores.sql.rows import (
    INTERRUPTS,
    KEY,
    MESSAGES,
    RECEIPTS,
    RECORD,
    STOP,
    VERSION_TABLE,
    WRITTEN,
    Database,
    RowTable,
    revisions,
)
from tests.stores.samples import KEY as THREAD, idle, message, put
from tests.stores.sql.conftest import Place
from tests.stores.sql.described import Table

ROW_TABLES = (MESSAGES, INTERRUPTS, RECEIPTS)
HEAD = list(revisions("sqlite"))[-1]
NEXT = f"{int(HEAD) + 1:04}"
NOTE = "ALTER TABLE agui_threads ADD COLUMN note TEXT DEFAULT 'none';\n"


def version(place: Place) -> object:
    ((number,),) = place.ask(f"SELECT version_num FROM {VERSION_TABLE}")
    return number


# --- the files ---


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_every_file_is_a_revision_and_no_number_is_left_out(database: Database) -> None:
    names = {file.name for file in rows.MIGRATIONS.iterdir()}
    other = {"sqlite": "postgres", "postgres": "sqlite"}[database]
    numbers = list(revisions(database))

    assert numbers == [f"{number:04}" for number in range(1, len(numbers) + 1)]
    assert len({name for name in names if f".{other}." not in name}) == len(numbers)


# --- what they make ---


async def test_both_databases_have_the_same_tables(
    sqlite_place: Place, postgres_place: Place
) -> None:
    await sqlite_place.open_and_close()
    await postgres_place.open_and_close()

    assert sqlite_place.tables() == postgres_place.tables()


async def test_the_tables_have_the_columns_that_statements_use(place: Place) -> None:
    await place.open_and_close()
    tables = place.tables()

    own = {"agui_threads", "agui_probe", "agui_announced", "agui_deliveries"}
    own |= {"agui_audit", "agui_grants", "agui_words", "agui_servers", VERSION_TABLE}
    assert set(tables) == {*own, *(table.name for table in ROW_TABLES)}
    threads = tables["agui_threads"]
    assert set(threads.columns) == {*KEY, *WRITTEN, *STOP}
    assert set(threads.columns) >= set(RECORD)
    assert threads.key == list(KEY)
    for table in ROW_TABLES:
        beside = {"told": "bigint"} if table is INTERRUPTS else {}
        assert kinds_of(tables[table.name]) == {**kinds_in(table), **beside}
        assert tables[table.name].key == [*KEY, table.id]
        assert tables[table.name].refers == [(list(KEY), "agui_threads", list(KEY), "CASCADE")]


def kinds_of(table: Table) -> dict[str, str]:
    return {name: kind for name, (kind, _) in table.columns.items()}


def kinds_in(table: RowTable) -> dict[str, str]:
    stamp = {table.stamp: "double precision"} if table.stamp else {}
    return {**dict.fromkeys((*KEY, table.id), "text"), **table.kinds, **stamp}


# --- stores of before ---


def keep_the_first(migrations: Path) -> None:
    for file in migrations.iterdir():
        if not file.name.startswith("0001_"):
            file.unlink()


async def test_a_store_that_alembic_made_is_opened_unchanged(
    before: Place, migrations: Path
) -> None:
    keep_the_first(migrations)
    found = before.tables()

    await before.open_and_close(migrate=False)
    await before.open_and_close()
    assert (before.tables(), version(before)) == (found, "0001")


async def test_what_is_in_a_store_that_alembic_made_is_read(before: Place) -> None:
    store = await before.open()
    loaded = await store.load(THREAD, ["i1"], messages=True)
    await store.aclose()

    assert loaded.record is not None
    assert [one.id for one in loaded.messages] == ["m1", "m2"]
    assert (list(loaded.interrupts), list(loaded.receipts)) == (["i1"], ["batch"])


async def test_a_store_that_alembic_made_becomes_what_a_new_one_is(
    before: Place, other: Place
) -> None:
    await before.open_and_close()
    await other.open_and_close()

    assert before.tables() == other.tables()
    assert version(before) == version(other) == HEAD


# --- the next revision ---


def write(migrations: Path, sql: str, *, shared: bool) -> None:
    """A next revision: one file for both databases, or one for each."""
    kinds = [""] if shared else [".sqlite", ".postgres"]
    for kind in kinds:
        (migrations / f"{NEXT}_note{kind}.sql").write_text(sql)


@pytest.mark.parametrize("shared", [True, False])
async def test_a_next_revision_is_a_file_and_nothing_else(
    before: Place, migrations: Path, shared: bool
) -> None:
    write(migrations, NOTE, shared=shared)

    with pytest.raises(SchemaMismatch, match=rf"has schema 0001, .* needs schema {NEXT}") as told:
        await before.open_and_close(migrate=False)
    assert f"`agui-bridge migrate --store {before.url}`" in str(told.value)
    await before.open_and_close()

    assert version(before) == NEXT
    assert before.ask("SELECT thread, note FROM agui_threads") == [("thread", "none")]
    await before.open_and_close(migrate=False)


async def test_a_new_store_has_all_revisions(place: Place, migrations: Path) -> None:
    write(migrations, NOTE, shared=True)
    await place.open_and_close()

    assert version(place) == NEXT
    assert place.tables()["agui_threads"].columns["note"] == ("text", False)


async def test_a_store_of_a_next_version_is_refused(place: Place, migrations: Path) -> None:
    write(migrations, NOTE, shared=True)
    await place.open_and_close()
    (migrations / f"{NEXT}_note.sql").unlink()

    with pytest.raises(SchemaMismatch, match=rf"{NEXT}.*upgrade agui-bridge"):
        await place.open_and_close()


async def test_a_next_revision_that_fails_leaves_nothing(before: Place, migrations: Path) -> None:
    write(migrations, NOTE + "-- half way\nINSERT INTO agui_nowhere VALUES (1);\n", shared=True)
    found = before.tables()

    with pytest.raises(StoreError):
        await before.open_and_close()

    assert (before.tables(), version(before)) == (found, "0001")


async def test_stores_that_open_at_once_migrate_once(before: Place, migrations: Path) -> None:
    write(migrations, NOTE, shared=True)

    async with asyncio.timeout(30):
        await asyncio.gather(*(before.open_and_close() for _ in range(4)))

    assert version(before) == NEXT


# --- what SQLite needs of its own ---

ANEW = """
CREATE TABLE agui_anew {columns};
INSERT INTO agui_anew SELECT * FROM agui_threads;
DROP TABLE agui_threads;
ALTER TABLE agui_anew RENAME TO agui_threads;
"""


async def test_in_sqlite_a_table_that_is_made_anew_keeps_its_rows(
    sqlite_place: Place, migrations: Path
) -> None:
    store = await sqlite_place.open()
    done = await put(store, idle(), messages=(message("m1", 1),))
    await store.aclose()
    ((made,),) = sqlite_place.ask("SELECT sql FROM sqlite_master WHERE name = 'agui_threads'")
    columns = re.sub(r"^CREATE TABLE agui_threads", "", made)
    write(migrations, ANEW.format(columns=columns), shared=True)

    store = await sqlite_place.open()
    loaded = await store.load(THREAD, messages=True)
    await store.aclose()

    assert loaded.record == done.record
    assert [one.id for one in loaded.messages] == ["m1"]


async def test_in_sqlite_a_revision_that_loses_a_thread_of_messages_is_refused(
    sqlite_place: Place, migrations: Path
) -> None:
    store = await sqlite_place.open()
    await put(store, idle(), messages=(message("m1", 1),))
    await store.aclose()
    write(migrations, "DELETE FROM agui_threads;\n", shared=True)

    with pytest.raises(StoreError):
        await sqlite_place.open_and_close()
    assert sqlite_place.ask("SELECT count(*) FROM agui_threads") == [(1,)]
