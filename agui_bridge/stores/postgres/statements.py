"""What `PostgresStore` asks of the database: each call of the store is one of these statements.

A single statement is a transaction of its own, one round trip, and one snapshot. Where a guard
is decided, the statement is an UPDATE or DELETE whose WHERE holds the guard: when it has waited
for another's commit, PostgreSQL judges the condition anew on the row as it is then. Time is
therefore read in the condition itself, and never before it. Lists ask for the time at which the
statement began: that is one value for all rows, and indexes can be searched with it.

Parameters are written `:name`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Protocol

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.threads.records import InterruptStatus, ThreadKey, ThreadStatus
from agui_bridge.stores.commit_rules import WAITING
from agui_bridge.stores.postgres.notifications import CHANNEL
from agui_bridge.stores.sql import rows
from agui_bridge.stores.watching import ANY_STOP

GIVEN = ":now::float8"
NOW = "extract(epoch FROM clock_timestamp())::float8"
BEGAN = "extract(epoch FROM statement_timestamp())::float8"
"""The store's time is the database's clock, but where tests give it."""

STOP = ", ".join(rows.STOP)
LEASE = ", ".join(rows.LEASE)
RECORD = ", ".join(rows.RECORD)
"""What `sql.rows.read_thread` reads, in its order."""

KEY = "{0}.scope = :scope AND {0}.agent = :agent AND {0}.thread = :thread"
SAME = "{0}.scope = {1}.scope AND {0}.agent = {1}.agent AND {0}.thread = {1}.thread"
PLACE = 'raised_at, agent COLLATE "C", thread COLLATE "C", position, id COLLATE "C"'
AFTER = ":after_raised, :after_agent, :after_thread, :after_position::bigint, :after_id"
"""The columns of a `Place`, and its parameters."""
WAITS = ", ".join(f"'{status.value}'" for status in WAITING)
OPEN = InterruptStatus.OPEN.value
_TOOLS = "position('\"about_tools\":' in data)"
_ABOUT = f"substr(data, {_TOOLS}, position('\"response_schema\":' in data) - {_TOOLS})"
"""What the data of an interrupt says of its tools: see `codec.encode_interrupt`."""
IDLE, INTERRUPTED = ThreadStatus.IDLE.value, ThreadStatus.INTERRUPTED.value
RUNNING = ThreadStatus.RUNNING.value


DOUBTED = "CASE WHEN :lease_seconds::float8 IS NULL THEN :lease_doubted_until::float8 END"
"""A lease that is given or renewed is in no doubt."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with numbered parameters.

    Attributes:
        sql: its text.
        names: of the parameters, the first is $1.
    """

    sql: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Statement:
        """Number the parameters of a text."""
        names: dict[str, int] = {}

        def number(match: re.Match[str]) -> str:
            return f"${names.setdefault(match[1], len(names) + 1)}"

        return cls(re.sub(r"(?<!:):([a-z_]+)", number, text), tuple(names))

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        """The values in the order of their numbers."""
        return [values[name] for name in self.names]


class Run(Protocol):
    """Runs a statement of a store."""

    async def __call__(
        self,
        statement: Statement,
        key: ThreadKey | None = None,
        values: dict[str, Any] | None = None,
        *,
        repeatable: bool = True,
    ) -> list[Any]:
        """Run it about a thread or none, with values; gives the rows."""
        ...


class Statements:
    """Every statement, for tables in one schema."""

    def __init__(self, schema: str | None, *, timed: bool = False) -> None:
        """Write them.

        Args:
            schema: where the tables lie; None leaves it to the search path.
            timed: whether the time is a parameter, `now`.
        """
        self.schema = schema
        self.now = GIVEN if timed else NOW
        self.began = GIVEN if timed else BEGAN
        holds = f"""t.lease_ends_at > {self.now}
        AND (t.lease_given_at > {self.now} AND t.lease_doubted_until <= {self.now}) IS NOT TRUE"""
        self._holds = holds
        self._guard = f"""(:version::bigint IS NULL OR t.version = :version)
    AND (:guard::text IS NULL OR (t.lease = :guard AND {holds}))
    AND (:after::text IS NULL OR t.write_id = :after)
    AND (:not_after::float8 IS NULL OR {self.now} < :not_after)"""
        self._prefix = "" if schema is None else '"' + schema.replace('"', '""') + '".'
        self._threads = self.table("agui_threads")
        self._messages = self.table("agui_messages")
        self._interrupts = self.table("agui_interrupts")
        self._receipts = self.table("agui_receipts")
        self.load = Statement.of(self._load())
        self.record = Statement.of(
            f"SELECT {self.now}, {RECORD} FROM (SELECT) one LEFT JOIN {self._threads} t"
            f" ON {KEY.format('t')}"
        )
        self.touch = Statement.of(
            f"UPDATE {self._threads} t SET write_id = :write_id"
            f" WHERE {KEY.format('t')} AND t.write_id = :write_id RETURNING {self.now}, {RECORD}"
        )
        self.mark = Statement.of(
            f"SELECT version, {STOP} FROM {self._threads} t WHERE {KEY.format('t')}"
        )
        self.ping = Statement.of(
            f"INSERT INTO {self.table('agui_probe')} AS p (id, written_at) VALUES (1, {self.now})"
            " ON CONFLICT (id) DO UPDATE SET written_at = excluded.written_at"
            " RETURNING p.written_at"
        )
        self.stops = Statement.of(
            f"SELECT {STOP} FROM {self._threads}"
            " WHERE stop_token IS NOT NULL AND stop_token = ANY (:tokens::text[])"
        )
        self.history = Statement.of(self._history())
        self.positions = Statement.of(
            f"SELECT id, position FROM {self._messages} m"
            f" WHERE {KEY.format('m')} AND id = ANY (:ids::text[])"
        )
        self.keep_words = Statement.of(self._keep_words())
        self.words = Statement.of(self._words())
        self.request_stop = Statement.of(self._request_stop())
        self.renew = Statement.of(self._renew())
        self.doubt = Statement.of(self._doubt())
        self.delete = Statement.of(
            f"DELETE FROM {self._threads} t WHERE {KEY.format('t')} AND {self._guard} RETURNING 1"
        )
        self.prune = Statement.of(self._prune())
        self.prunable = Statement.of(self._old())
        self.threads = Statement.of(self._list_threads())
        self.due = Statement.of(self._due())
        self.commit = lru_cache(self._commit)
        self.interrupts = lru_cache(self._list_interrupts)
        self.interrupt_count = lru_cache(self._count_interrupts)

    def table(self, name: str) -> str:
        """A table's name, with its schema."""
        return self._prefix + name

    def _load(self) -> str:
        i, r, m = KEY.format("i"), KEY.format("r"), KEY.format("m")
        return f"""
WITH thread AS MATERIALIZED (
    SELECT {RECORD}, batch FROM {self._threads} t WHERE {KEY.format("t")}
), asks AS MATERIALIZED (
    SELECT i.batch, i.data FROM {self._interrupts} i
    WHERE {i} AND i.batch = ANY (ARRAY(
        SELECT batch FROM thread WHERE batch IS NOT NULL
        UNION SELECT i.batch FROM {self._interrupts} i WHERE {i} AND i.id = ANY (:ids::text[])
    ))
)
SELECT {self.now},
    ARRAY(SELECT data FROM asks),
    ARRAY(SELECT r.data FROM {self._receipts} r
        WHERE {r} AND r.batch = ANY (ARRAY(SELECT batch FROM asks) || :receipt::text[])),
    context.ids, context.positions, context.data,
    {", ".join(f"thread.{name}" for name in RECORD.split(", "))}
FROM (SELECT) one LEFT JOIN thread ON true, LATERAL (
    SELECT array_agg(id) AS ids, array_agg(position) AS positions, array_agg(data) AS data
    FROM (
        SELECT m.id, m.position, m.data FROM {self._messages} m
        WHERE {m} AND NOT m.superseded AND :messages::boolean
        ORDER BY m.position, m.id COLLATE "C"
    ) m
) context"""

    def _history(self) -> str:
        newest = 'position DESC, id COLLATE "C" DESC'
        return f"""
SELECT id, position, data FROM (
    SELECT id, position, data, octet_length(data) AS bytes,
        sum(octet_length(data)) OVER (ORDER BY {newest}) AS until
    FROM {self._messages} m
    WHERE {KEY.format("m")} AND (:before::bigint IS NULL OR position < :before)
) m
WHERE :most::bigint IS NULL OR until <= :most OR until = bytes
ORDER BY position, id COLLATE "C\""""

    def _commit(
        self,
        *,
        new: bool,
        interrupts: bool,
        receipts: bool,
        messages: bool,
        superseded: bool,
        audit: bool,
        words: bool,
    ) -> Statement:
        """The compare-and-swap, with the rows that a change has."""
        parts = [f"thread AS ({self._insert_thread() if new else self._update_thread()})"]
        if interrupts:
            parts.append(_upsert("interrupts", self._interrupts, rows.INTERRUPTS))
        if receipts:
            parts.append(_upsert("receipts", self._receipts, rows.RECEIPTS))
        if messages:
            parts.append(_upsert("messages", self._messages, rows.MESSAGES))
        if audit:
            parts.append(_upsert("audit", self.table(rows.AUDIT.name), rows.AUDIT))
        if superseded:
            parts.append(
                f"supersede AS (UPDATE {self._messages} m SET superseded = true FROM thread"
                f" WHERE {KEY.format('m')} AND m.id = ANY (:superseded::text[]))"
            )
        if words:
            parts.append(
                f"drop_words AS (DELETE FROM {self.table('agui_words')} w USING thread"
                f" WHERE {KEY.format('w')})"
            )
        text = ",\n".join(parts)
        return Statement.of(f"WITH {text}\nSELECT * FROM thread")

    def _update_thread(self) -> str:
        return f"""
    UPDATE {self._threads} t SET
        version = t.version + 1, status = :status, batch = :batch, lease = :lease,
        lease_ends_at = coalesce({self.now} + :lease_seconds::float8, :lease_ends_at::float8),
        lease_given_at = {_given(self.now)}, lease_doubted_until = {DOUBTED},
        write_id = :write_id, updated_at = {self.now}, data = :data
    WHERE {KEY.format("t")} AND t.write_id <> :write_id
    AND {self._guard}
    RETURNING version, created_at, updated_at, {LEASE}, {STOP}"""

    def _insert_thread(self) -> str:
        return f"""
    INSERT INTO {self._threads} (scope, agent, thread, version, status, batch, lease,
        lease_ends_at, lease_given_at, lease_doubted_until, write_id, created_at, updated_at, data)
    SELECT :scope, :agent, :thread, :new_version, :status, :batch, :lease,
        coalesce(clock.now + :lease_seconds::float8, :lease_ends_at::float8),
        {_given("clock.now")}, {DOUBTED}, :write_id, clock.now, clock.now, :data
    FROM (SELECT {self.now} AS now OFFSET 0) clock
    WHERE :not_after::float8 IS NULL OR clock.now < :not_after
    ON CONFLICT DO NOTHING
    RETURNING version, created_at, updated_at, {LEASE}, {STOP}"""

    def _renew(self) -> str:
        return f"""
WITH held AS (
    UPDATE {self._threads} t SET
        version = t.version + (t.status = '{RUNNING}')::int,
        lease_ends_at = {self.now} + :seconds::float8, lease_given_at = {self.now},
        lease_doubted_until = NULL
    FROM unnest(:scopes::text[], :agents::text[], :threads::text[], :tokens::text[])
        AS own (scope, agent, thread, token)
    WHERE {SAME.format("t", "own")} AND t.lease = own.token AND {self._holds}
    RETURNING t.lease
)
SELECT {self.now}, ARRAY(SELECT lease FROM held)"""

    def _keep_words(self) -> str:
        # The lock keeps the thread from being deleted in between, and no write of the owner's off.
        return f"""
WITH thread AS (
    SELECT FROM {self._threads} t
    WHERE {KEY.format("t")} AND t.lease = :lease AND t.lease_ends_at > {self.now}
    FOR KEY SHARE
)
INSERT INTO {self.table("agui_words")} (scope, agent, thread, lease, data)
SELECT :scope, :agent, :thread, :lease, :data FROM thread
ON CONFLICT (scope, agent, thread) DO UPDATE SET lease = excluded.lease, data = excluded.data
RETURNING 1"""

    def _words(self) -> str:
        return f"""
SELECT w.data FROM {self.table("agui_words")} w JOIN {self._threads} t
    ON {SAME.format("w", "t")} AND w.lease = t.lease
WHERE {KEY.format("w")}"""

    def _doubt(self) -> str:
        until = f"({self.now} + (t.lease_ends_at - t.lease_given_at))"
        return f"""
UPDATE {self._threads} t SET lease_doubted_until = {until}
FROM unnest(:scopes::text[], :agents::text[], :threads::text[]) AS own (scope, agent, thread)
WHERE {SAME.format("t", "own")} AND t.lease IS NOT NULL AND t.lease_given_at > {self.now}
    AND t.lease_ends_at > t.lease_given_at
    AND (t.lease_doubted_until IS NULL OR t.lease_doubted_until > {until})"""

    def _request_stop(self) -> str:
        # The same as `join_stops`, decided on the row as it is.
        keep = "(t.stop_token <> :token AND t.stop_token = t.lease) IS TRUE"
        same = "(t.stop_token = :token AND (t.stop_force OR NOT :force)) IS TRUE"
        # Few, and to be heard of at once: these notify. Commits do not (see `Notifications`).
        return f"""
WITH told AS MATERIALIZED (SELECT pg_notify('{CHANNEL}', '{ANY_STOP}'))
UPDATE {self._threads} t SET
    stop_token = CASE WHEN {keep} THEN t.stop_token ELSE :token END,
    stop_force = CASE WHEN {keep} OR {same} THEN t.stop_force ELSE :force::boolean END,
    stop_actor = CASE WHEN {keep} OR {same} THEN t.stop_actor ELSE :actor END,
    stop_until = CASE WHEN {keep} THEN t.stop_until
        WHEN {same} THEN least(t.stop_until, :until::float8) ELSE :until END
FROM told
WHERE {KEY.format("t")}
RETURNING {RECORD}"""

    def _old(self) -> str:
        return f"""
    SELECT ctid FROM {self._threads}
    WHERE updated_at <= {self.began} - :older_than::float8 AND status = '{IDLE}'
    ORDER BY updated_at, scope COLLATE "C", agent COLLATE "C", thread COLLATE "C"
    LIMIT :limit"""

    def _prune(self) -> str:
        # Who is being written to is not idle for long: no need to wait for anybody.
        return f"""
DELETE FROM {self._threads} WHERE ctid = ANY (ARRAY({self._old()} FOR UPDATE SKIP LOCKED))
RETURNING scope, agent, thread"""

    def _list_threads(self) -> str:
        return f"""
WITH page AS MATERIALIZED (
    SELECT {RECORD} FROM {self._threads}
    WHERE scope = :scope AND agent = :agent AND updated_at < :before
    ORDER BY updated_at DESC, thread COLLATE "C" LIMIT :limit
)
SELECT
    (SELECT count(*) FROM {self._messages} m
        WHERE {SAME.format("m", "page")} AND NOT m.superseded),
    (SELECT count(*) FROM {self._interrupts} i
        WHERE {SAME.format("i", "page")} AND i.status = '{OPEN}'
        AND (i.expires_at IS NULL OR i.expires_at > {self.began})),
    {RECORD}
FROM page ORDER BY updated_at DESC, thread COLLATE "C\""""

    def _list_interrupts(self, filters: frozenset[str], *, unexpired: bool) -> Statement:
        """The list of a scope's interrupts.

        Args:
            filters: of `agent`, `tool`, `line`, `thread`, `status` and `after`, those that are
                wanted.
            unexpired: whether those that have expired are left out.
        """
        return Statement.of(
            f"SELECT scope, agent, thread, data, raised_at FROM {self._interrupts}"
            f" WHERE {self._fitting(filters, unexpired)} ORDER BY {PLACE} LIMIT :limit"
        )

    def _count_interrupts(self, filters: frozenset[str], *, unexpired: bool) -> Statement:
        """How many interrupts a scope has, up to a limit; see `_list_interrupts`."""
        return Statement.of(
            f"SELECT count(*) FROM (SELECT FROM {self._interrupts}"
            f" WHERE {self._fitting(filters, unexpired)} LIMIT :limit::bigint) found"
        )

    def _fitting(self, filters: frozenset[str], unexpired: bool) -> str:
        equal = sorted({"scope", *filters} - {"after", "line"})
        conditions = [f"{name} = :{name}" for name in equal]
        if "line" in filters:
            conditions.append(f"position(:line in {_ABOUT}) > 0")
        if "after" in filters:
            # The first is what an index is searched with.
            conditions += ["raised_at >= :after_raised::float8", f"({PLACE}) > ({AFTER})"]
        if unexpired:
            conditions.append(f"(expires_at IS NULL OR expires_at > {self.began})")
        return " AND ".join(conditions)

    def _due(self) -> str:
        return f"""
WITH leases AS (
    SELECT scope, agent, thread FROM {self._threads}
    WHERE lease IS NOT NULL AND lease_ends_at <= {self.began}
    ORDER BY lease_ends_at LIMIT :limit
), looks AS (
    SELECT scope, agent, thread FROM {self._threads}
    WHERE lease IS NULL AND lease_ends_at <= {self.began} AND data LIKE {_NO_RUN}
    ORDER BY lease_ends_at LIMIT :limit
), ahead AS (
    SELECT * FROM (
        SELECT scope, agent, thread, lease_ends_at AS ends_at, lease_given_at AS given_at,
            lease_doubted_until AS until
        FROM {self._threads} WHERE lease IS NOT NULL AND lease_ends_at > {self.began}
        ORDER BY lease_ends_at DESC LIMIT :limit
    ) last WHERE given_at > {self.began}
), expired AS (
    SELECT t.scope, t.agent, t.thread
    FROM {self._interrupts} i JOIN {self._threads} t
        ON {SAME.format("i", "t")} AND i.batch = t.batch
    WHERE i.status IN ({WAITS}) AND i.expires_at <= {self.began}
        AND t.status = '{INTERRUPTED}' AND NOT EXISTS (
            SELECT FROM {self._interrupts} s WHERE {SAME.format("s", "t")} AND s.batch = t.batch
            AND (s.expires_at IS NULL OR s.expires_at > {self.began}))
    GROUP BY t.scope, t.agent, t.thread ORDER BY max(i.expires_at) LIMIT :limit
)
(SELECT scope, agent, thread, 'lease' FROM leases
UNION ALL SELECT scope, agent, thread, 'lease' FROM ahead WHERE until <= {self.began}
UNION ALL SELECT scope, agent, thread, 'expiry' FROM expired
UNION ALL SELECT scope, agent, thread, 'expiry' FROM looks LIMIT :limit)
UNION ALL SELECT scope, agent, thread, 'doubt' FROM ahead
WHERE until IS NULL OR until > {self.began} + (ends_at - given_at)"""


_NO_RUN = "'%\"run\"_null,%'"
"""In a record's text: of a lease that is not in force the end is no time of a look."""


def _given(now: str) -> str:
    return f"CASE WHEN :lease_seconds::float8 IS NULL THEN :lease_given_at::float8 ELSE {now} END"


def _upsert(name: str, place: str, table: rows.RowTable) -> str:
    """Write the rows of the parameters `:NAME_COLUMN` by their id.

    Args:
        name: of the parameters, and of this part of the statement.
        place: the table's name, with its schema.
        table: its columns.
    """
    kinds = {table.id: "text", **table.kinds}
    columns = ", ".join(kinds)
    arrays = ", ".join(f":{name}_{column}::{kind}[]" for column, kind in kinds.items())
    changes = ", ".join(f"{column} = excluded.{column}" for column in table.kinds)
    stamped, value = (f", {table.stamp}", ", thread.updated_at") if table.stamp else ("", "")
    return f"""put_{name} AS (
    INSERT INTO {place} (scope, agent, thread, {columns}{stamped})
    SELECT :scope, :agent, :thread, {", ".join(f"new.{column}" for column in kinds)}{value}
    FROM thread, unnest({arrays}) AS new ({columns})
    ON CONFLICT (scope, agent, thread, {table.id}) DO UPDATE SET {changes}
)"""
