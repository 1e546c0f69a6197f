"""Which schema a database has, and how it comes up to date (Alembic, in `migrations`).

Alembic itself is imported only when there is something to migrate.
"""

from __future__ import annotations

import threading

from sqlalchemy import ColumnClause, Connection, column, inspect, select, table

from agui_bridge.errors import SchemaMismatch

__all__ = ["HEAD", "KNOWN", "VERSION_TABLE", "check_revision", "judge_revision", "upgrade"]

KNOWN = ("0001",)
"""The revisions in `migrations/versions`, oldest first."""

HEAD = KNOWN[-1]
"""The revision that this version works with."""

VERSION_TABLE = "agui_schema"
"""Alembic's own table, named so that a host application's Alembic keeps its `alembic_version`."""

# Alembic keeps the migration that is under way in module globals.
_one_at_a_time = threading.Lock()


def check_revision(connection: Connection, *, url: str, migrate: bool) -> bool:
    """Tell whether the schema must be migrated before it can be used.

    Args:
        connection: to the database.
        url: the store's address, for the remedy.
        migrate: whether migrating is allowed.

    Raises:
        SchemaMismatch: the database is newer than this version, or older and may not be
            migrated.
    """
    return judge_revision(_revision(connection), url=url, migrate=migrate)


def judge_revision(revision: str | None, *, url: str, migrate: bool) -> bool:
    """Tell the same of a revision that was found, None where there are no tables.

    Raises:
        SchemaMismatch: as `check_revision`.
    """
    if revision == HEAD:
        return False
    if revision is not None and revision not in KNOWN:
        raise SchemaMismatch(
            f"the database has schema {revision}, which this version of agui-bridge does not "
            f"know (it knows up to {HEAD}): upgrade agui-bridge"
        )
    if not migrate:
        found = f"schema {revision}" if revision else "no tables of agui-bridge"
        raise SchemaMismatch(
            f"the database has {found}, this version of agui-bridge needs schema {HEAD}: "
            f"run `agui-bridge migrate --store {url}`"
        )
    return True


def upgrade(connection: Connection) -> None:
    """Bring the schema up to date, within the caller's transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "agui_bridge.stores.sql:migrations")
    config.attributes["connection"] = connection
    with _one_at_a_time:
        command.upgrade(config, HEAD)


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    number: ColumnClause[str] = column("version_num")
    revision: str | None = connection.scalar(select(number).select_from(table(VERSION_TABLE)))
    return revision
