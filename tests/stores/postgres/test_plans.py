"""On a large database no statement of PostgreSQL's store reads a whole table."""

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import asyncpg
import pytest

from agui_bridge.stores.postgres.beside_threads import DeliveryStatements, newest_records
from agui_bridge.stores.postgres.statements import Statement, Statements
from agui_bridge.stores.postgres.store import PostgresStore
from tests.support.postgres import execute, new_schema, server, with_schema

pytestmark = [pytest.mark.soak, pytest.mark.timeout(180)]

FILL = """
INSERT INTO {0}.agui_threads (scope, agent, thread, version, status, batch, lease, lease_ends_at,
    write_id, created_at, updated_at, data, stop_token, stop_force, stop_until, stop_actor)
SELECT 'scope' || n % 50, 'agent' || n % 3, 'thread' || n, 1,
    CASE WHEN n % 500 = 0 THEN 'running' WHEN n % 10 = 1 THEN 'interrupted' ELSE 'idle' END,
    'batch', CASE WHEN n % 500 = 0 THEN 'token' || n END,
    CASE WHEN n % 500 = 0 THEN extract(epoch FROM now()) + n - 700 END,
    'w', 1.6e9 + n, 1.6e9 + n, '{{}}',
    CASE WHEN n % 1000 = 0 THEN 'token' || n END, false, 0, ''
FROM generate_series(1, {1}) n;
INSERT INTO {0}.agui_interrupts (scope, agent, thread, id, batch, position, status, expires_at,
    raised_at, data)
SELECT 'scope' || n % 50, 'agent' || n % 3, 'thread' || n, 'i', 'batch', 0,
    CASE WHEN n % 10 = 1 THEN 'open' ELSE 'resolved' END,
    CASE WHEN n % 20 = 1 THEN extract(epoch FROM now()) + n - 700 END, 1.6e9 + n, '{{}}'
FROM generate_series(1, {1}) n;
INSERT INTO {0}.agui_messages (scope, agent, thread, id, position, superseded, data)
SELECT 'scope' || n % 50, 'agent' || n % 3, 'thread' || n, 'm' || m, m, false, '{{}}'
FROM generate_series(1, {1}) n, generate_series(1, 2) m;
INSERT INTO {0}.agui_receipts (scope, agent, thread, batch, data)
SELECT 'scope' || n % 50, 'agent' || n % 3, 'thread' || n, 'batch', '{{}}'
FROM generate_series(1, {1}) n;
"""

KEY = {"scope": "scope1", "agent": "agent1", "thread": "thread1"}
VALUES: dict[str, Any] = {
    **KEY,
    "ids": ["i"],
    "receipt": ["input"],
    "messages": True,
    "tokens": ["token1000", "unknown"],
    "scopes": ["scope1", "scope2"],
    "agents": ["agent1", "agent2"],
    "threads": ["thread1", "thread2"],
    "seconds": 30.0,
    "before": 2_000_000_000,
    "limit": 50,
    "older_than": 1e8 + 500,
    "most": 1_000,
    "status": "open",
    "version": 1,
    "guard": None,
    "after": None,
    "not_after": None,
    "token": "token",
    "force": False,
    "until": 1.0,
    "actor": "ann",
    "batch": None,
    "lease": None,
    "lease_ends_at": None,
    "lease_given_at": None,
    "lease_doubted_until": None,
    "lease_seconds": None,
    "write_id": "other",
    "new_version": 1,
    "data": "{}",
    "superseded": ["m1"],
    "tool": "tool1",
    "after_raised": 1.0,
    "after_agent": "agent",
    "after_thread": "thread",
    "after_position": 0,
    "after_id": "i",
    "interrupts_id": ["i"],
    "interrupts_batch": ["batch"],
    "interrupts_position": [0],
    "interrupts_status": ["open"],
    "interrupts_expires_at": [None],
    "interrupts_tool": ["tool1"],
    "interrupts_data": ["{}"],
    "receipts_batch": ["batch"],
    "receipts_data": ["{}"],
    "messages_id": ["m9"],
    "messages_position": [9],
    "messages_superseded": [False],
    "messages_data": ["{}"],
    "audit_id": ["1"],
    "audit_written_at": [1.0],
    "audit_data": ["{}"],
}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(20_000, id="20000"),
        pytest.param(100_000, id="100000", marks=pytest.mark.soak),
    ],
)
def large(request: pytest.FixtureRequest) -> Iterator[str]:
    """A schema with many threads."""
    with new_schema() as schema:
        asyncio.run(_make(with_schema(server().dsn, schema)))
        filling = FILL.format(schema, request.param).split(";")
        statements = [part for part in filling if part.strip()]
        tables = ("threads", "interrupts", "messages", "receipts")
        # The rows belong together: to check that of each would take minutes.
        quick = [f"ALTER TABLE {schema}.agui_{table} DISABLE TRIGGER ALL" for table in tables]
        quick += [f"ALTER TABLE {schema}.agui_{table} SET UNLOGGED" for table in tables[1:]]
        statements = [*quick, *statements]
        statements += [f"ANALYZE {schema}.agui_{table}" for table in tables]
        statements += [f"ALTER TABLE {schema}.agui_{table} ENABLE TRIGGER ALL" for table in tables]
        execute(server().dsn, *statements)
        yield schema


async def _make(url: str) -> None:
    await (await PostgresStore.open(url)).aclose()


def hot(statements: Statements) -> dict[str, Statement]:
    """Every statement that runs while a bridge is at work."""
    parts = ("interrupts", "receipts", "messages", "superseded", "audit", "words")
    everything = dict.fromkeys(parts, True)
    listed = statements.interrupts
    deliveries = DeliveryStatements(statements)
    return {
        "load": statements.load,
        "record": statements.record,
        "touch": statements.touch,
        "mark": statements.mark,
        "ping": statements.ping,
        "stops": statements.stops,
        "history": statements.history,
        "positions": statements.positions,
        "renew": statements.renew,
        "doubt": statements.doubt,
        "request_stop": statements.request_stop,
        "delete": statements.delete,
        "prune": statements.prune,
        "prunable": statements.prunable,
        "threads": statements.threads,
        "due": statements.due,
        "claim": statements.commit(new=False, **everything),
        "create": statements.commit(new=True, **everything),
        "open": listed(frozenset({"status"}), unexpired=True),
        "open of an agent": listed(frozenset({"status", "agent"}), unexpired=True),
        "open behind a place": listed(frozenset({"status", "after"}), unexpired=True),
        "open of a tool": listed(frozenset({"status", "tool", "after"}), unexpired=True),
        "of a thread alone": listed(frozenset({"status", "thread"}), unexpired=True),
        "new to channels": deliveries.unannounced,
        "over for channels": deliveries.over,
        "newest records": newest_records(statements),
        "of a thread": listed(frozenset({"agent", "thread"}), unexpired=False),
        "open of a tool, counted": statements.interrupt_count(
            frozenset({"status", "tool"}), unexpired=True
        ),
    }


@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
async def test_no_statement_reads_a_whole_table(large: str, mode: str) -> None:
    connection = await asyncpg.connect(server().dsn)
    scans, times = [], {}
    try:
        await connection.execute(f"SET plan_cache_mode = {mode}")
        for name, statement in hot(Statements(large)).items():
            # Explained as it runs: prepared, with parameters.
            await connection.execute(f"PREPARE asked AS {statement.sql}")
            given = ", ".join(map(_literal, statement.arguments(VALUES)))
            given = given and f"({given})"
            async with connection.transaction():
                rows = await connection.fetch(f"EXPLAIN (ANALYZE) EXECUTE asked{given}")
                plan = "\n".join(row[0] for row in rows)
                await connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
            await connection.execute("DEALLOCATE asked")
            found = re.search(r"Execution Time: ([\d.]+) ms", plan)
            assert found is not None
            times[name] = float(found[1])
            scans += [f"{name}: {line.strip()}" for line in plan.split("\n") if _whole(line)]
    finally:
        await connection.close()
    print(times)
    assert scans == []


def _whole(line: str) -> bool:
    # The planner may read nothing of a table: then it has no scan that was executed.
    return "Seq Scan on agui_" in line and "never executed" not in line


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list):
        items = ("NULL" if item is None else f'"{item}"' for item in value)
        return f"'{{{','.join(items)}}}'"
    if isinstance(value, str) or value == float("inf"):
        return f"'{value}'"
    return str(value)
