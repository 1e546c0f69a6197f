"""What a database has in fact, told alike for SQLite and PostgreSQL."""

import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.postgres import execute, server

TYPES = {
    "DOUBLE": "double precision",
    "DOUBLE PRECISION": "double precision",
    "VARCHAR(32)": "character varying",
}
"""What SQLite was told, where PostgreSQL has another name for it."""


@dataclass
class Table:
    """A table.

    Attributes:
        columns: their types by name, and whether they are never null, in order.
        key: the columns of the primary key, in order.
        refers: columns, table, its columns, and what a deletion does.
        indexes: their columns by name, in order, and the condition if there is one.
    """

    columns: dict[str, tuple[str, bool]] = field(default_factory=dict)
    key: list[str] = field(default_factory=list)
    refers: list[tuple[list[str], str, list[str], str]] = field(default_factory=list)
    indexes: dict[str, tuple[list[str], str]] = field(default_factory=dict)


def sqlite_tables(path: Path) -> dict[str, Table]:
    """The tables of a file."""
    with closing(sqlite3.connect(path)) as file:
        names = file.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {name: _sqlite_table(file, name) for (name,) in names}


def _sqlite_table(file: sqlite3.Connection, name: str) -> Table:
    table = Table()
    places = {}
    for _, column, kind, never_null, _, place in file.execute(f"PRAGMA table_info({name})"):
        table.columns[column] = TYPES.get(kind, kind.lower()), bool(never_null)
        places[place] = column
    table.key = [column for place, column in sorted(places.items()) if place]
    references = file.execute(f"PRAGMA foreign_key_list({name})").fetchall()
    if references:
        ordered = sorted(references, key=lambda row: (row[0], row[1]))
        assert {row[0] for row in ordered} == {0}, "more than one reference: describe them all"
        _, _, target, _, _, _, on_delete, _ = ordered[0]
        table.refers = [([r[3] for r in ordered], target, [r[4] for r in ordered], on_delete)]
    statements = file.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql <> ''",
        (name,),
    )
    for index, sql in statements.fetchall():
        columns = [row[2] for row in file.execute(f"PRAGMA index_info({index})")]
        table.indexes[index] = columns, sql.partition(" WHERE ")[2]
    return table


def postgres_tables(schema: str) -> dict[str, Table]:
    """The tables of a schema."""
    columns, indexes, references = execute(
        server().dsn,
        f"""SELECT table_name, column_name, data_type, is_nullable
        FROM information_schema.columns WHERE table_schema = '{schema}'
        ORDER BY ordinal_position""",
        f"""SELECT t.relname, i.relname, x.indisprimary, pg_get_expr(x.indpred, x.indrelid),
            ARRAY(SELECT pg_get_indexdef(x.indexrelid, n, true)
                FROM generate_series(1, x.indnkeyatts) n ORDER BY n)
        FROM pg_index x JOIN pg_class t ON t.oid = x.indrelid
            JOIN pg_class i ON i.oid = x.indexrelid
        WHERE t.relnamespace = '{schema}'::regnamespace""",
        f"""SELECT t.relname, pg_get_constraintdef(c.oid)
        FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
        WHERE c.contype = 'f' AND t.relnamespace = '{schema}'::regnamespace""",
    )
    tables: dict[str, Table] = {}
    for table, column, kind, nullable in columns:
        tables.setdefault(table, Table()).columns[column] = kind, nullable == "NO"
    for table, index, primary, condition, names in indexes:
        if primary:
            tables[table].key = list(names)
        else:
            unquoted = [name.strip('"') for name in names]
            # PostgreSQL tells a condition with more brackets than it was given, and with types.
            tables[table].indexes[index] = unquoted, re.sub(r"[()]|::\w+", "", condition or "")
    for table, definition in references:
        found = re.fullmatch(
            r"FOREIGN KEY \((.*)\) REFERENCES (?:\S+\.)?(\w+)\((.*)\) ON DELETE (.*)", definition
        )
        assert found is not None, definition
        tables[table].refers.append(
            (found[1].split(", "), found[2], found[3].split(", "), found[4])
        )
    return tables
