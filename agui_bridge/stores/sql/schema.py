"""Which schema a database has, and how it comes up to date: the numbered files in `migrations`.

`0002_words.sql` is a revision of both databases; where their SQL differs it is two files,
`0002_words.sqlite.sql` and `0002_words.postgres.sql`. A file holds statements without parameters,
and none that begins or ends a transaction; one that was released is never changed. In SQLite
references are not in force while a file runs, so that a table can be made anew, and are checked
at the end.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Final, Literal

from agui_bridge.errors import SchemaMismatch

__all__ = [
    "VERSION_TABLE",
    "Database",
    "head_of",
    "judge_revision",
    "revisions",
    "upgrade_script",
]

Database = Literal["sqlite", "postgres"]

MIGRATIONS = files("agui_bridge.stores.sql") / "migrations"

VERSION_TABLE: Final = "agui_schema"
"""Has one row, and in it the number of the last revision: `version_num`."""

_NAME: Final = re.compile(r"(\d{4})_[a-z0-9_]+(?:\.(sqlite|postgres))?\.sql")

_BEGIN: Final = f"""
CREATE TABLE IF NOT EXISTS {VERSION_TABLE} (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num)
);
INSERT INTO {VERSION_TABLE} (version_num) VALUES ('{{}}');
"""
_MOVE_ON: Final = f"UPDATE {VERSION_TABLE} SET version_num = '{{}}';\n"


def revisions(database: Database) -> dict[str, str]:
    """The SQL of each revision of a database by its number, oldest first."""
    found = {}
    for file in MIGRATIONS.iterdir():
        name = _NAME.fullmatch(file.name)
        if name is not None and name[2] in (None, database):
            found[name[1]] = file.read_text(encoding="utf-8")
    return dict(sorted(found.items()))


def head_of(database: Database) -> str:
    """The number of the last revision of a database."""
    return list(revisions(database))[-1]


def judge_revision(database: Database, revision: str | None, *, url: str, migrate: bool) -> bool:
    """Tell whether a database must be migrated before it can be used.

    Args:
        database: which kind it is.
        revision: what it has; None where there are no tables.
        url: the store's address, for the remedy.
        migrate: whether migrating is allowed.

    Raises:
        SchemaMismatch: the database is newer than this version, or older and may not be
            migrated.
    """
    known, head = list(revisions(database)), head_of(database)
    if revision == head:
        return False
    if revision is not None and revision not in known:
        raise SchemaMismatch(
            f"the database has schema {revision}, which this version of agui-bridge does not "
            f"know (it knows up to {head}): upgrade agui-bridge"
        )
    if not migrate:
        found = f"schema {revision}" if revision else "no tables of agui-bridge"
        raise SchemaMismatch(
            f"the database has {found}, this version of agui-bridge needs schema {head}: "
            f"run `agui-bridge migrate --store {url}`"
        )
    return True


def upgrade_script(database: Database, revision: str | None) -> str:
    """The SQL that brings a database from a revision up to date, for one transaction.

    Args:
        database: which kind it is.
        revision: what it has, None for nothing; one that `judge_revision` finds older.
    """
    known = revisions(database)
    steps = [sql for number, sql in known.items() if revision is None or number > revision]
    note = _BEGIN if revision is None else _MOVE_ON
    return "\n".join([*steps, note.format(list(known)[-1])])
