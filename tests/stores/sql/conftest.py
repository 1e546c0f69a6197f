"""The two SQL databases, each as a place of the test's own where a store may be."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.resources import as_file
from pathlib import Path
from typing import Any

import pytest

from agui_bridge.stores.base import Store
from agui_bridge.stores.open import open_store
from agui_bridge.stores.sql import rows as schema
from agui_bridge.stores.sql.rows import Database
from tests.stores.sql.described import Table, postgres_tables, sqlite_tables
from tests.support import postgres

ALEMBIC = Path(__file__).parent / "made_by_alembic"


@dataclass
class Place:
    """Where a store is, or could be.

    Attributes:
        name: the file, or the schema.
    """

    database: Database
    url: str
    name: str

    def tables(self) -> dict[str, Table]:
        """What is there in fact."""
        if self.database == "sqlite":
            return sqlite_tables(Path(self.name)) if Path(self.name).exists() else {}
        return postgres_tables(self.name) if self._has_schema() else {}

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query on its tables."""
        if self.database == "sqlite":
            with closing(sqlite3.connect(self.name, isolation_level=None)) as file:
                return file.execute(query).fetchall()
        path = f"SET search_path TO {self.name}"
        _, rows = postgres.execute(postgres.server().dsn, path, query)
        return [tuple(row) for row in rows]

    def fill(self, script: str) -> None:
        """Run a dump."""
        if self.database == "sqlite":
            with closing(sqlite3.connect(self.name)) as file:
                file.executescript(script)
            return
        begin = (f"CREATE SCHEMA {self.name}", f"SET search_path TO {self.name}")
        statements = script.strip().removesuffix(";").split(";\n")
        postgres.execute(postgres.server().dsn, *begin, *statements)

    async def open(self, *, migrate: bool = True) -> Store:
        return await open_store(self.url, migrate=migrate)

    async def open_and_close(self, *, migrate: bool = True) -> None:
        await (await self.open(migrate=migrate)).aclose()

    def _has_schema(self) -> bool:
        query = f"SELECT 1 FROM pg_namespace WHERE nspname = '{self.name}'"
        return postgres.execute(postgres.server().dsn, query) != [[]]


@contextmanager
def new_place(database: Database, folder: Path) -> Iterator[Place]:
    """A place without anything; in PostgreSQL what comes there is gone afterwards."""
    if database == "sqlite":
        path = folder / f"{os.urandom(4).hex()}.db"
        yield Place(database, f"sqlite:///{path}", str(path))
        return
    with postgres.new_schema() as name:
        yield Place(database, postgres.with_schema(postgres.server().dsn, name), name)


@pytest.fixture
def sqlite_place(tmp_path: Path) -> Iterator[Place]:
    with new_place("sqlite", tmp_path) as place:
        yield place


@pytest.fixture
def postgres_place(tmp_path: Path) -> Iterator[Place]:
    with new_place("postgres", tmp_path) as place:
        yield place


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Each of the two in turn, empty."""
    with new_place(request.param, tmp_path) as place:
        yield place


@pytest.fixture
def other(place: Place, tmp_path: Path) -> Iterator[Place]:
    """One more of the same kind, empty."""
    with new_place(place.database, tmp_path) as other:
        yield other


@pytest.fixture
def before(place: Place) -> Place:
    """A store of revision 0001 that Alembic has made, with one thread."""
    place.fill((ALEMBIC / f"{place.database}.sql").read_text())
    return place


@pytest.fixture
def migrations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of migrations that the test may add to."""
    folder = tmp_path / "migrations"
    with as_file(schema.MIGRATIONS) as ours:
        shutil.copytree(ours, folder)
    monkeypatch.setattr(schema, "MIGRATIONS", folder)
    return folder
