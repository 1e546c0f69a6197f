"""What the stores in SQLite and PostgreSQL share: columns, rows, and migrations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from importlib.resources import files
from itertools import chain
from operator import itemgetter
from typing import Any, Final, Literal

from agui_bridge.errors import SchemaMismatch
from agui_bridge.frozen import dataclass, replace
from agui_bridge.protocol.grants import Grant
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.record_parts import AuditRow, LeaseTerm
from agui_bridge.protocol.threads.records import (
    Interrupt,
    Json,
    Receipt,
    StopRequest,
    ThreadKey,
    ThreadRecord,
    ThreadStatus,
)
from agui_bridge.stores import codec
from agui_bridge.stores.base import InterruptRow, Place, QuestionFilter
from agui_bridge.stores.codec import encode_grant
from agui_bridge.stores.commit_rules import Head, with_term
from agui_bridge.stores.deliveries import Delivery
from agui_bridge.stores.servers import Server, Written

# --- which schema a database has, and how it comes up to date ---
#
# The numbered files in `migrations`.
#
# `0002_words.sql` is a revision of both databases; where their SQL differs it is two files,
# `0002_words.sqlite.sql` and `0002_words.postgres.sql`. A file holds statements without parameters,
# and none that begins or ends a transaction; one that was released is never changed. In SQLite
# references are not in force while a file runs, so that a table can be made anew, and are checked
# at the end.

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


# --- the columns that the statements of both SQL stores write and read; `migrations` makes them ---
#
# Conditions, parameters and what is asked for in one statement differ from database to database:
# those are written where they are used.

KEY: Final = ("scope", "agent", "thread")
"""The columns of a `ThreadKey`; every table's primary key begins with them."""

STOP: Final = ("stop_token", "stop_force", "stop_until", "stop_actor")
"""The columns of a `StopRequest`."""

LEASE: Final = ("lease_ends_at", "lease_given_at", "lease_doubted_until")
"""The columns of a `LeaseTerm`."""

RECORD: Final = (
    *KEY,
    *("data", "status", "version", "write_id", "created_at", "updated_at"),
    *LEASE,
    *STOP,
)
"""What `rows.read_thread` reads, in its order."""

WRITTEN: Final = (
    *("version", "status", "batch", "lease", *LEASE, "write_id"),
    *("created_at", "updated_at", "data"),
)
"""What `rows.thread_row` gives: what a commit writes of a thread besides its key."""


@dataclass(frozen=True, slots=True)
class RowTable:
    """A table whose rows belong to a thread and are written by their id.

    Attributes:
        name: of the table.
        id: the column that tells a thread's rows apart.
        kinds: the other columns that every commit writes, with PostgreSQL's names of their types.
        stamp: a column with the time of the first commit, which later ones leave.
    """

    name: str
    id: str
    kinds: Mapping[str, str] = field(hash=False)
    stamp: str | None = None


MESSAGES: Final = RowTable(
    "agui_messages", "id", {"position": "bigint", "superseded": "boolean", "data": "text"}
)
INTERRUPTS: Final = RowTable(
    "agui_interrupts",
    "id",
    {
        "batch": "text",
        "position": "bigint",
        "status": "text",
        "expires_at": "double precision",
        "tool": "text",
        "data": "text",
    },
    stamp="raised_at",
)
RECEIPTS: Final = RowTable("agui_receipts", "batch", {"data": "text"})
AUDIT: Final = RowTable("agui_audit", "id", {"written_at": "double precision", "data": "text"})


# --- records as rows of the SQL stores, and back ---

Row = Sequence[Any]
Values = dict[str, Any]

SEVERAL: Final = "\n"
"""Stands in the column of tools where an interrupt is about several."""


def key_row(key: ThreadKey) -> Values:
    """The columns of a key."""
    return {"scope": key.scope, "agent": key.agent, "thread": key.thread}


def thread_row(record: ThreadRecord) -> Values:
    """What a commit writes of a thread: all but its key and its stop request."""
    head = Head.of(record)
    term = head.term
    return {
        "version": record.version,
        "status": record.status.value,
        "batch": record.batch.id if record.batch else None,
        "lease": head.lease,
        # Without a lease it is the time of the next look, so that one index has both.
        "lease_ends_at": term.ends_at if term else record.look_at,
        "lease_given_at": term and term.given_at,
        "lease_doubted_until": term and term.doubted_until,
        "write_id": record.write_id,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "data": codec.encode_thread(record),
    }


def stop_row(stop: StopRequest) -> Values:
    """The columns of a stop request."""
    return {
        "stop_token": stop.token,
        "stop_force": stop.force,
        "stop_until": stop.until,
        "stop_actor": stop.actor,
    }


def interrupt_row(key: Values, ask: Interrupt, now: float) -> Values:
    """A row of an interrupt; `now` counts only when it is new."""
    return {
        **key,
        "id": ask.id,
        "batch": ask.batch,
        "position": ask.position,
        "status": ask.status.value,
        "expires_at": ask.expires_at,
        "tool": tool_column(ask),
        "raised_at": now,
        "data": codec.encode_interrupt(ask),
    }


def read_interrupt(row: Row) -> InterruptRow:
    """An interrupt in a list, from its key, data and time."""
    *key, data, raised_at = row
    return InterruptRow(ThreadKey(*key), codec.decode_interrupt(data), raised_at)


def tool_column(ask: Interrupt) -> str | None:
    """The tool that an interrupt is about, or `SEVERAL`, which are in its data."""
    return SEVERAL if ask.about_tools else ask.tool


def filters_of(which: QuestionFilter) -> tuple[Values, ...]:
    """The filters of the lists that together are a list of interrupts, by their parameters.

    By a tool there are two: of those about that tool, and of those about several.
    """
    word = which.status and which.status.value
    filters = {"agent": which.agent, "tool": which.tool, "thread": which.thread, "status": word}
    wanted = {name: value for name, value in filters.items() if value is not None}
    if which.tool is None:
        return (wanted,)
    return wanted, {**wanted, "tool": SEVERAL, "line": codec.line_of(which.tool)}


def first_of(lists: Iterable[Iterable[InterruptRow]], limit: int) -> list[InterruptRow]:
    """The first interrupts of some lists of which none is twice."""
    return sorted(chain.from_iterable(lists), key=lambda row: row.place)[:limit]


def place_values(place: Place | None) -> Values:
    """The parameters of the place behind which a list begins, if there is one."""
    if place is None:
        return {}
    names = ("raised", "agent", "thread", "position", "id")
    return {f"after_{name}": part for name, part in zip(names, place, strict=True)}


def receipt_row(key: Values, receipt: Receipt) -> Values:
    """A row of a receipt."""
    return {**key, "batch": receipt.batch, "data": codec.encode_receipt(receipt)}


def grant_row(grant: Grant) -> Values:
    """A row of a remembered decision: what never changes of it."""
    return {
        "scope": grant.scope,
        "id": grant.id,
        "agent": grant.agent,
        "tool": grant.tool,
        "data": encode_grant(grant),
        "created_at": grant.created_at,
        "expires_at": grant.expires_at,
        "max_uses": grant.max_uses,
    }


def after_row(key: ThreadKey | None) -> Values:
    """The key behind which a list of threads begins; None is from the first."""
    scope, agent, thread = (key.scope, key.agent, key.thread) if key else (None, None, None)
    return {"after": scope, "after_agent": agent, "after_thread": thread}


def audit_row(key: Values, row: AuditRow) -> Values:
    """A row of the audit chain."""
    return {**key, "id": row.id, "written_at": row.written_at, "data": row.data}


def message_row(key: Values, message: StoredMessage) -> Values:
    """A row of a message, in context."""
    return {
        **key,
        "id": message.id,
        "position": message.position,
        "superseded": False,
        "data": codec.encode(message.message),
    }


def words_row(key: Values, lease: str, said: StoredMessage) -> Values:
    """The row of what a run is saying."""
    text = codec.encode([said.id, said.position, said.message])
    return {**key, "lease": lease, "data": text}


def read_words(data: str) -> StoredMessage:
    """What a run is saying, from its data."""
    return StoredMessage(*codec.decode(data))


def read_head(row: Row) -> Head:
    """The head of a thread, from the columns of `Statements.head`."""
    version, write_id, created_at, lease, ends, given, doubted, *stop = row
    term = None if lease is None else LeaseTerm(ends, given, doubted)
    return Head(version, write_id, created_at, lease, term, _stop_if_any(stop))


def read_thread(row: Row) -> ThreadRecord:
    """A record, from the columns `tables.RECORD`."""
    scope, agent, thread, data, status, version, write_id, created_at, updated_at, *more = row
    (*term, token, force, until, actor) = more
    record = codec.decode_thread(data, ThreadKey(scope, agent, thread))
    record = with_term(replace(record, status=ThreadStatus(status)), term_if_any(*term))
    return replace(
        record,
        version=version,
        stop=_stop_if_any((token, force, until, actor)),
        write_id=write_id,
        created_at=created_at,
        updated_at=updated_at,
    )


def term_if_any(
    ends_at: float | None, given_at: float | None, doubted_until: float | None
) -> LeaseTerm | None:
    """The times of a lease, from the columns `LEASE`; None where there are none."""
    return None if ends_at is None else LeaseTerm(ends_at, given_at, doubted_until)


def read_message(row: Row) -> StoredMessage:
    """A message, from its id, position and data."""
    id, position, data = row
    return StoredMessage(id, position, codec.decode(data))


def read_messages(text: str | None) -> tuple[StoredMessage, ...]:
    """Messages in order, from what `sqlite.statements.load` gives of them."""
    rows: list[Any] = codec.decode(text) if text else []
    # The order of the database's: by code points too.
    return tuple(StoredMessage(*row) for row in sorted(rows, key=itemgetter(1, 0)))


def read_stop(row: Row) -> StopRequest:
    """A stop request, from the columns `tables.STOP`."""
    token, force, until, actor = row
    # SQLite has no booleans: it gives 0 or 1.
    return StopRequest(token, bool(force), until, actor)


def _stop_if_any(row: Row) -> StopRequest | None:
    return None if row[0] is None else read_stop(row)


OF_IT: Final = 1
OF_ITS_END: Final = 2
"""What people have been told of a question, in its column `told`."""

COLUMNS: Final = (
    *("scope", "agent", "thread", "id", "interrupt", "channel", "event", "due_at", "state"),
    *("attempts", "lease", "noted", "error", "created_at", "updated_at", "closed_by"),
)
"""What `read_delivery` reads, in its order."""


def read_delivery(row: Sequence[Any]) -> Delivery:
    """A delivery, from the columns `COLUMNS`."""
    values = dict(zip(COLUMNS, row, strict=True))
    key = ThreadKey(*(values.pop(name) for name in ("scope", "agent", "thread")))
    noted = values.pop("noted")
    return Delivery(key, noted=None if noted is None else codec.decode(noted), **values)


def read_asked(row: Sequence[Any]) -> tuple[ThreadKey, str]:
    """A question, from its key and id."""
    *key, interrupt = row
    return ThreadKey(*key), interrupt


def close_row(delivery: Delivery, actor: str) -> dict[str, Any]:
    """What closing a delivery asks for: its id, what it must still be, and by whom."""
    return {
        "id": delivery.id,
        "state": delivery.state,
        "attempts": delivery.attempts,
        "lease": delivery.lease,
        "actor": actor,
    }


def encode_noted(noted: Mapping[str, Json] | None) -> str | None:
    """The column `noted`."""
    return None if noted is None else codec.encode(dict(noted))


def server_row(server: Server) -> dict[str, Any]:
    """What is written of a server besides the times."""
    return {
        "id": server.id,
        "version": server.version,
        "format": server.format,
        "channels": codec.encode(list(server.channels)),
    }


def read_server(row: Sequence[Any]) -> Server:
    """A server, from its columns in the order of the fields."""
    id, version, format, channels, since, seen_at = row
    return Server(id, version, format, tuple(codec.decode(channels)), since, seen_at)


def read_written(row: Sequence[Any]) -> Written:
    """A record as it was found, from the beginning of its text and its time."""
    beginning, at = row
    return Written(codec.format_of(beginning), at)
