"""Opening a PostgreSQL database: addresses, schemas, migrations, and what must not be shown."""

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agui_bridge.errors import (
    BridgeError,
    ConfigurationError,
    SchemaMismatch,
    StoreError,
    StoreUnavailable,
)
from agui_bridge.stores.base import Expected
from agui_bridge.stores.open import open_store
from agui_bridge.stores.postgres.address import parse_address, redacted
from agui_bridge.stores.postgres.store import PostgresStore
from agui_bridge.stores.sql.rows import VERSION_TABLE, revisions
from tests.stores.processes import racers
from tests.stores.samples import KEY, idle, put
from tests.support.forks import fork
from tests.support.postgres import execute, new_schema, server, with_schema
from tests.support.waiting import PATIENCE

ROOT = Path(__file__).parents[3]
HEAD = list(revisions("postgres"))[-1]


@pytest.fixture
def schema() -> Iterator[str]:
    with new_schema() as name:
        yield name


@pytest.fixture
def url(schema: str) -> str:
    return with_schema(server().dsn, schema)


async def open_and_close(url: str, *, migrate: bool = True) -> None:
    await (await PostgresStore.open(url, migrate=migrate)).aclose()


def rows_of(statement: str) -> list[tuple[object, ...]]:
    (rows,) = execute(server().dsn, statement)
    return [tuple(row) for row in rows]


def tables_in(schema: str) -> set[object]:
    query = f"SELECT tablename FROM pg_tables WHERE schemaname = '{schema}'"
    return {name for (name,) in rows_of(query)}


# --- migrations ---


async def test_a_second_start_changes_nothing(url: str, schema: str) -> None:
    store = await PostgresStore.open(url)
    done = await put(store, idle())
    await store.aclose()

    store = await PostgresStore.open(url, migrate=False)
    assert (await store.load(KEY)).record == done.record
    await store.aclose()
    assert rows_of(f"SELECT * FROM {schema}.{VERSION_TABLE}") == [(HEAD,)]


async def test_without_a_schema_the_tables_lie_where_the_search_path_says(
    url: str, schema: str
) -> None:
    execute(server().dsn, f"CREATE SCHEMA {schema}")
    await open_and_close(f"{server().dsn}?search_path={schema}")

    assert "agui_threads" in tables_in(schema)
    await open_and_close(url, migrate=False)


async def test_a_schema_of_any_name_is_one() -> None:
    name = f'Agui "test" %{os.getpid()}; \'x'
    quoted = '"' + name.replace('"', '""') + '"'
    encoded = name.replace("%", "%25").replace(" ", "%20").replace(";", "%3B")
    try:
        store = await open_store(f"{server().dsn}?schema={encoded}")
        await put(store, idle())
        await store.aclose()
        assert rows_of(f"SELECT count(*) FROM {quoted}.agui_threads") == [(1,)]
    finally:
        execute(server().dsn, f"DROP SCHEMA IF EXISTS {quoted} CASCADE")


async def test_processes_may_start_at_once_on_a_new_schema(url: str, schema: str) -> None:
    with racers("open", url, 3) as processes:
        assert {process.hear() for process in processes} == {"ready"}
        for process in processes:
            process.tell("go")
        assert [process.hear() for process in processes] == ["open"] * 3
    assert rows_of(f"SELECT * FROM {schema}.{VERSION_TABLE}") == [(HEAD,)]


async def test_stores_of_one_process_may_open_at_once(url: str) -> None:
    with new_schema() as other:
        urls = [url, url, with_schema(server().dsn, other), url]
        async with asyncio.timeout(30):
            await asyncio.gather(*map(open_and_close, urls))


async def test_a_migration_that_fails_leaves_nothing(url: str, schema: str) -> None:
    execute(
        server().dsn, f"CREATE SCHEMA {schema}", f"CREATE TABLE {schema}.agui_receipts (taken int)"
    )

    with pytest.raises(StoreError):
        await open_and_close(url)
    assert tables_in(schema) == {"agui_receipts"}


@pytest.mark.parametrize("migrate", [True, False])
async def test_a_newer_schema_is_refused(url: str, schema: str, migrate: bool) -> None:
    await open_and_close(url)
    execute(server().dsn, f"UPDATE {schema}.{VERSION_TABLE} SET version_num = '9999'")

    with pytest.raises(SchemaMismatch, match=r"9999.*upgrade agui-bridge"):
        await open_and_close(url, migrate=migrate)


async def test_a_check_creates_nothing(url: str, schema: str) -> None:
    with pytest.raises(SchemaMismatch, match=r"no tables.*agui-bridge migrate"):
        await open_and_close(url, migrate=False)
    assert rows_of(f"SELECT count(*) FROM pg_namespace WHERE nspname = '{schema}'") == [(0,)]


def test_the_command_line_makes_the_tables(url: str, schema: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    for _ in range(2):
        done = fork("agui_bridge.cli", ["migrate", "--store", url], log)
        done.join(PATIENCE)
        assert done.exitcode == 0, log.read_text()
    assert [line[-14:] for line in log.read_text().splitlines()] == ["is up to date."] * 2
    assert VERSION_TABLE in tables_in(schema)


# --- a role with few rights ---


@pytest.fixture
def role(schema: str) -> Iterator[str]:
    name = f"agui_role_{os.getpid()}"
    execute(server().dsn, f"CREATE ROLE {name} LOGIN")
    yield name
    execute(server().dsn, f"DROP OWNED BY {name} CASCADE", f"DROP ROLE {name}")


async def test_a_role_that_may_only_write_rows_uses_a_schema_that_another_has_made(
    url: str, schema: str, role: str
) -> None:
    await open_and_close(url)
    ours = url.replace(f"//{server().user}@", f"//{role}@")
    execute(
        server().dsn,
        f"GRANT USAGE ON SCHEMA {schema} TO {role}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
    )

    store = await PostgresStore.open(ours)
    done = await put(store, idle())
    await store.delete(KEY, Expected(version=done.record.version))
    await store.aclose()


async def test_a_role_that_may_make_no_tables_is_told_so(url: str, role: str) -> None:
    with pytest.raises(StoreError, match="InsufficientPrivilege"):
        await open_and_close(url.replace(f"//{server().user}@", f"//{role}@"))


# --- addresses ---


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+asyncpg"])
async def test_an_address_opens_its_store(url: str, scheme: str) -> None:
    store = await open_store(scheme + url.removeprefix("postgresql"))
    assert isinstance(store, PostgresStore)
    await put(store, idle())
    await store.aclose()


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("listen=maybe", "listen"),
        ("pooler=yes", "pooler"),
        ("pool_size=0", "pool_size"),
        ("command_timeout=soon", "command_timeout"),
        ("schema=", "schema"),
        (f"schema={'x' * 64}", "schema"),
    ],
)
def test_an_option_that_means_nothing_is_refused(option: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        parse_address(f"postgresql://user:secret@host/db?{option}")


async def test_an_option_that_the_server_does_not_know_is_refused_by_it(url: str) -> None:
    with pytest.raises(ConfigurationError, match="options"):
        await open_and_close(f"{url}&no_such_setting=1")


def test_what_is_not_ours_goes_to_the_driver() -> None:
    address = parse_address("postgres://u:p%40w@h1,h2:5433/db?sslmode=require&schema=s&listen=off")

    assert address.dsn == "postgresql://u:p%40w@h1,h2:5433/db?sslmode=require"
    assert (address.schema, address.listen) == ("s", False)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:secret@host/db",
        "postgresql://user:se@c:re/t?#secret@host:5432/db?schema=x",
        "postgresql://user@host/db?password=secret&schema=x",
        "postgresql://user@host/db?schema=x&sslpassword=secret",
        "postgresql://:secret@host",
    ],
)
def test_an_address_is_shown_without_its_password(url: str) -> None:
    assert "secret" not in redacted(url)
    assert "host" in redacted(url)


@pytest.fixture
async def closed_port() -> AsyncIterator[int]:
    listener = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port: int = listener.sockets[0].getsockname()[1]
    listener.close()
    await listener.wait_closed()
    yield port


@pytest.mark.parametrize(
    ("place", "wanted", "said"),
    [
        ("user:secret@127.0.0.1:{closed}/test", StoreUnavailable, "no connection"),
        ("no-such-role:secret@127.0.0.1:{open}/test", ConfigurationError, "user and password"),
        ("{user}:secret@127.0.0.1:{open}/no_such", ConfigurationError, "no such database"),
        ("{user}:secret@127.0.0.1:secret/test", ConfigurationError, "not the address"),
        ("{user}:secret@127.0.0.1:{open}/test?sslmode=secret", ConfigurationError, "address"),
        ("{user}:secret@127.0.0.1:{open}/test?schema=gone&check", SchemaMismatch, "no tables"),
    ],
)
async def test_what_is_wrong_is_told_without_the_password(
    place: str,
    wanted: type[BridgeError],
    said: str,
    closed_port: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    given = place.format(closed=closed_port, open=server().port, user=server().user)

    with pytest.raises(BridgeError) as caught:
        await open_and_close(f"postgresql://{given}".removesuffix("&check"), migrate=False)
    assert isinstance(caught.value, wanted), repr(caught.value)
    assert said in str(caught.value)
    error: BaseException | None = caught.value
    while error is not None:
        assert "secret" not in str(error).replace("sslmode=secret", "").replace(":secret/", "/")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert "secret" not in caplog.text


async def test_a_server_that_does_not_answer_is_unavailable_in_time() -> None:
    held: list[asyncio.StreamWriter] = []
    listener = await asyncio.start_server(lambda _, writer: held.append(writer), "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]

    async with asyncio.timeout(5):
        with pytest.raises(StoreUnavailable):
            await open_and_close(f"postgresql://u:p@127.0.0.1:{port}/test?connect_timeout=0.3")
    for writer in held:
        writer.close()
    listener.close()


def test_a_missing_driver_is_told_with_the_command_that_installs_it() -> None:
    code = (
        "import asyncio, sys; sys.modules['asyncpg'] = None\n"
        "from agui_bridge.stores.open import open_store\n"
        "try: asyncio.run(open_store('postgresql://host/db'))\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)

    assert done.stdout.startswith("ConfigurationError")
    assert 'pip install "agui-bridge[postgres]"' in done.stdout
