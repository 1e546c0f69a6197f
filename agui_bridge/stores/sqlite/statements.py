"""The statements of `SqliteStore`, as the text that the driver takes; what a commit writes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from functools import lru_cache

from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.records import (
    InterruptStatus,
    ThreadKey,
    ThreadRecord,
    ThreadStatus,
)
from agui_bridge.stores.commit_rules import WAITING
from agui_bridge.stores.sql.rows import (
    AUDIT,
    INTERRUPTS,
    KEY,
    LEASE,
    MESSAGES,
    RECEIPTS,
    RECORD as RECORD_COLUMNS,
    STOP,
    WRITTEN,
    RowTable,
    audit_row,
    interrupt_row,
    key_row,
    message_row,
    receipt_row,
    thread_row,
)

COLUMNS = ", ".join(RECORD_COLUMNS)

OWN = " AND ".join(f"{name} = :{name}" for name in KEY)
"""The condition that a row belongs to the thread of the parameters."""

SAME = " AND ".join(f"x.{name} = t.{name}" for name in KEY)
"""The condition that the row `x` belongs to the thread `t`."""

PROBE = "INSERT OR REPLACE INTO agui_probe (id, written_at) VALUES (1, :now)"

AFTER = """(raised_at, agent, thread, position, id)
    > (:after_raised, :after_agent, :after_thread, :after_position, :after_id)"""

LATER = "(expires_at IS NULL OR expires_at > :now)"


def _insert(table: str, columns: Iterable[str]) -> str:
    names = list(columns)
    values = ", ".join(f":{name}" for name in names)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values})"


def _update_thread(columns: Iterable[str]) -> str:
    values = ", ".join(f"{name} = :{name}" for name in columns)
    return f"UPDATE agui_threads SET {values} WHERE {OWN}"


def _upsert(table: RowTable) -> str:
    """Write rows by their id."""
    stamp = [table.stamp] if table.stamp else []
    insert = _insert(table.name, [*KEY, table.id, *table.kinds, *stamp])
    values = ", ".join(f"{name} = excluded.{name}" for name in table.kinds)
    return f"{insert} ON CONFLICT ({', '.join([*KEY, table.id])}) DO UPDATE SET {values}"


HEAD = (
    f"SELECT version, write_id, created_at, lease, {', '.join((*LEASE, *STOP))}"
    f" FROM agui_threads WHERE {OWN}"
)
RECORD = f"SELECT {COLUMNS} FROM agui_threads WHERE {OWN}"
MARK = f"SELECT version, stop_token, stop_force, stop_until FROM agui_threads WHERE {OWN}"

WAITED = "(:now + (lease_ends_at - lease_given_at))"
"""Until when a lease is waited for that ends too late (see `LeaseTerm`)."""

INSERT_THREAD = _insert("agui_threads", (*KEY, *WRITTEN))
UPDATE_THREAD = _update_thread(WRITTEN)
REQUEST_STOP = _update_thread(STOP)
RENEW = f"""
UPDATE agui_threads SET version = version + (status = '{ThreadStatus.RUNNING.value}'),
    lease_ends_at = :ends_at, lease_given_at = :now, lease_doubted_until = NULL
WHERE {OWN} AND lease = :token AND lease_ends_at > :now
    AND (lease_given_at > :now AND lease_doubted_until <= :now) IS NOT TRUE"""
DOUBT = f"""
UPDATE agui_threads SET lease_doubted_until = {WAITED}
WHERE {OWN} AND lease IS NOT NULL AND lease_given_at > :now AND lease_ends_at > lease_given_at
    AND (lease_doubted_until IS NULL OR lease_doubted_until > {WAITED})"""
DELETE_THREAD = f"DELETE FROM agui_threads WHERE {OWN}"

PUT_AUDIT = _upsert(AUDIT)
PUT_INTERRUPTS = _upsert(INTERRUPTS)
PUT_RECEIPTS = _upsert(RECEIPTS)
PUT_MESSAGES = _upsert(MESSAGES)
SUPERSEDE = f"UPDATE agui_messages SET superseded = 1 WHERE {OWN} AND id = :id"

KEEP_WORDS = f"""
INSERT OR REPLACE INTO agui_words ({", ".join(KEY)}, lease, data)
SELECT {", ".join(KEY)}, lease, :data FROM agui_threads
WHERE {OWN} AND lease = :lease AND lease_ends_at > :now"""
DROP_WORDS = f"DELETE FROM agui_words WHERE {OWN}"
WORDS = f"""
SELECT x.data FROM agui_words x JOIN agui_threads t ON {SAME} AND x.lease = t.lease
WHERE {" AND ".join(f"x.{name} = :{name}" for name in KEY)}"""

HISTORY = f"SELECT id, position, data FROM agui_messages WHERE {OWN} ORDER BY position, id"
SIZES = f"""
SELECT id, length(data) FROM agui_messages
WHERE {OWN} AND (:before IS NULL OR position < :before) ORDER BY position DESC, id DESC"""
MESSAGE = f"SELECT id, position, data FROM agui_messages WHERE {OWN} AND id = :id"

LEASES_OVER = f"""
SELECT {", ".join(KEY)} FROM agui_threads
WHERE lease IS NOT NULL AND lease_ends_at <= :now ORDER BY lease_ends_at LIMIT :limit"""
LOOKS_DUE = LEASES_OVER.replace("lease IS NOT NULL", "lease IS NULL")

LEASES_AHEAD = f"""
SELECT * FROM (
    SELECT {", ".join((*KEY, *LEASE))} FROM agui_threads
    WHERE lease IS NOT NULL AND lease_ends_at > :now ORDER BY lease_ends_at DESC LIMIT :limit
) WHERE lease_given_at > :now"""
"""Of the leases that end last those that were given later than now."""

BATCHES_EXPIRED = f"""
SELECT {", ".join(f"t.{name}" for name in KEY)}
FROM agui_interrupts x JOIN agui_threads t ON {SAME} AND x.batch = t.batch
WHERE x.status IN ({", ".join(f"'{status.value}'" for status in WAITING)})
    AND x.expires_at <= :now AND t.status = '{ThreadStatus.INTERRUPTED.value}'
    AND NOT EXISTS (
        SELECT 1 FROM agui_interrupts x WHERE {SAME} AND x.batch = t.batch AND {LATER}
    )
GROUP BY {", ".join(f"t.{name}" for name in KEY)}
ORDER BY max(x.expires_at) LIMIT :limit"""

OLD = f"""
SELECT {", ".join(KEY)} FROM agui_threads
WHERE updated_at <= :latest AND status = '{ThreadStatus.IDLE.value}'
ORDER BY updated_at, {", ".join(KEY)} LIMIT :limit"""

THREADS = f"""
SELECT {COLUMNS},
    (SELECT count(*) FROM agui_messages x WHERE {SAME} AND NOT superseded),
    (SELECT count(*) FROM agui_interrupts x
        WHERE {SAME} AND x.status = '{InterruptStatus.OPEN.value}' AND {LATER})
FROM agui_threads t
WHERE scope = :scope AND agent = :agent AND updated_at < :before
ORDER BY updated_at DESC, thread LIMIT :limit"""


@lru_cache
def load(ids: int, *, messages: bool) -> str:
    """The look at a thread: its record, then three texts or nulls.

    They hold the data of the asks of the batches that are wanted, a line each, and of the
    receipts of these batches and the one that is asked for, and the messages in context as a JSON
    array, in any order. One statement is one snapshot, and each row that is fetched is a turn with
    Python's lock.

    Args:
        ids: how many ids of interrupts the parameters have (see `numbered`).
        messages: whether the messages are wanted.
    """
    context = "NULL"
    if messages:
        row = "'[' || json_quote(id) || ',' || position || ',' || data || ']'"
        context = f"""(
        SELECT '[' || group_concat({row}) || ']'
        FROM agui_messages WHERE {OWN} AND superseded = 0
    )"""
    return f"""
WITH wanted AS (
    SELECT batch FROM agui_threads WHERE {OWN} AND batch IS NOT NULL
    UNION SELECT batch FROM agui_interrupts WHERE {OWN} AND id IN ({_places("id", ids)})
)
SELECT {COLUMNS},
    (SELECT group_concat(data, char(10)) FROM agui_interrupts
        WHERE {OWN} AND batch IN (SELECT batch FROM wanted)),
    (SELECT group_concat(data, char(10)) FROM agui_receipts
        WHERE {OWN} AND batch IN (SELECT batch FROM wanted UNION SELECT :receipt)),
    {context}
FROM agui_threads WHERE {OWN}"""


@lru_cache
def positions(ids: int) -> str:
    """The positions of some messages (see `numbered`)."""
    return f"SELECT id, position FROM agui_messages WHERE {OWN} AND id IN ({_places('id', ids)})"


@lru_cache
def stops(tokens: int) -> str:
    """The stop requests with some tokens (see `numbered`)."""
    return (
        f"SELECT {', '.join(STOP)} FROM agui_threads"
        f" WHERE stop_token IN ({_places('token', tokens)})"
    )


_ABOUT = (
    """substr(data, instr(data, '"about_tools":'),"""
    """ instr(data, '"response_schema":') - instr(data, '"about_tools":'))"""
)
"""What the data of an interrupt says of its tools: see `codec.encode_interrupt`."""


@lru_cache
def list_interrupts(filters: frozenset[str], *, unexpired: bool) -> str:
    """The list of a scope's interrupts.

    Args:
        filters: of `agent`, `tool`, `line`, `thread`, `status` and `after`, those that are wanted.
        unexpired: whether those that have expired are left out.
    """
    return f"""
SELECT {", ".join(KEY)}, data, raised_at FROM agui_interrupts
WHERE {_fitting(filters, unexpired=unexpired)}
ORDER BY raised_at, agent, thread, position, id LIMIT :limit"""


@lru_cache
def count_interrupts(filters: frozenset[str], *, unexpired: bool) -> str:
    """How many interrupts a scope has, up to a limit; see `list_interrupts`."""
    return f"""
SELECT count(*) FROM (
    SELECT 1 FROM agui_interrupts WHERE {_fitting(filters, unexpired=unexpired)} LIMIT :limit
) found"""


def _fitting(filters: frozenset[str], *, unexpired: bool) -> str:
    equal = sorted({"scope", *filters} - {"after", "line"})
    conditions = [f"{name} = :{name}" for name in equal]
    if "line" in filters:
        conditions.append(f"instr({_ABOUT}, :line) > 0")
    if "after" in filters:
        # The first is what an index is searched with.
        conditions += ["raised_at >= :after_raised", AFTER]
    if unexpired:
        conditions.append(LATER)
    return " AND ".join(conditions)


def numbered(name: str, values: Iterable[str]) -> dict[str, str]:
    """Parameters for a list of values."""
    return {f"{name}{number}": value for number, value in enumerate(values)}


def _places(name: str, count: int) -> str:
    return ", ".join(f":{name}{number}" for number in range(count))


def put_thread(connection: sqlite3.Connection, record: ThreadRecord, *, new: bool) -> None:
    """Write a thread's own row."""
    statement = INSERT_THREAD if new else UPDATE_THREAD
    connection.execute(statement, key_row(record.key) | thread_row(record))


def put_rows(connection: sqlite3.Connection, key: ThreadKey, change: Change, now: float) -> None:
    """Write the other rows of a change."""
    columns = key_row(key)
    if change.interrupts:
        connection.executemany(
            PUT_INTERRUPTS,
            [interrupt_row(columns, ask, now) for ask in change.interrupts],
        )
    if change.receipts:
        connection.executemany(
            PUT_RECEIPTS,
            [receipt_row(columns, receipt) for receipt in change.receipts],
        )
    if change.messages:
        connection.executemany(
            PUT_MESSAGES,
            [message_row(columns, message) for message in change.messages],
        )
    if change.audit:
        connection.executemany(PUT_AUDIT, [audit_row(columns, row) for row in change.audit])
    if change.superseded:
        connection.executemany(SUPERSEDE, [columns | {"id": id} for id in change.superseded])
    if change.drops_words:
        connection.execute(DROP_WORDS, columns)


def renew_leases(
    connection: sqlite3.Connection, leases: Mapping[str, ThreadKey], now: float, ends_at: float
) -> frozenset[str]:
    """Have leases end at a time, those that hold now; gives the tokens of these."""
    held = set()
    for token, key in leases.items():
        values = key_row(key) | {"token": token, "now": now, "ends_at": ends_at}
        if connection.execute(RENEW, values).rowcount:
            held.add(token)
    return frozenset(held)
