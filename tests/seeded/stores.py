"""Faults of the stores: each backend's compare-and-swap, and what they share."""

from __future__ import annotations

from typing import Final

from tests.seeded.fault import Fault

__all__ = ["STORES"]

STORES: Final = (
    Fault(
        id="memory-claims-blindly",
        broken="The store in memory takes a change whatever has happened meanwhile.",
        file="agui_bridge/stores/memory/store.py",
        before="        check_commit(head, expected, now, change.not_after)\n",
        after="",
        tests="tests/stores/test_contract.py",
    ),
    Fault(
        id="sqlite-claims-blindly",
        broken="The store in SQLite takes a change whatever has happened meanwhile.",
        file="agui_bridge/stores/sqlite/store.py",
        before="            check_commit(head, expected, now, change.not_after)\n",
        after="",
        tests="tests/stores/test_contract.py",
    ),
    Fault(
        id="postgres-claims-late",
        broken="PostgreSQL takes a change of a thread that has gone on since.",
        file="agui_bridge/stores/postgres/statements.py",
        before="t.version = :version)",
        after="t.version >= :version)",
        tests="tests/stores/test_contract.py",
    ),
    Fault(
        id="redis-claims-blindly",
        broken="Redis takes a change of a thread whatever version it has.",
        file="agui_bridge/stores/redis/scripts/writing.py",
        before="return head and head.version == version",
        after="return head and head.version ~= nil",
        tests="tests/stores/test_contract.py",
    ),
    Fault(
        id="redis-index-stale",
        broken="An interrupt stays in Redis's index of the status that it had before.",
        file="agui_bridge/stores/redis/scripts/writing.py",
        before="if old_position ~= position or old_state ~= state then",
        after="if old_position ~= position then",
        tests="tests/stores/redis/test_keys.py",
    ),
    Fault(
        id="threads-of-all-scopes",
        broken="SQLite lists the threads of an agent for whoever asks, whatever their scope.",
        file="agui_bridge/stores/sqlite/statements.py",
        before="WHERE scope = :scope AND agent = :agent AND updated_at < :before",
        after="WHERE agent = :agent AND updated_at < :before",
        tests="tests/stores/test_contract_reading.py",
    ),
    Fault(
        id="flush-forgets-stop",
        broken="A stop that was requested is gone once the run writes down what it has said.",
        file="agui_bridge/stores/commit_rules.py",
        before="stop=head.stop if head else None,",
        after="stop=change.record.stop,",
        tests="tests/stores/test_contract_stop_delete.py",
    ),
    Fault(
        id="schema-unchecked",
        broken="A database of a newer version is opened and written to.",
        file="agui_bridge/stores/sql/rows.py",
        before="if revision == head:",
        after="if revision is not None:",
        tests="tests/stores/sqlite/test_schema.py",
    ),
)
