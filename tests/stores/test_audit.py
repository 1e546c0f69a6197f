"""The audit chain on every store: rows come with their commit, and outlive their thread."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agui_bridge.errors import Conflict
from agui_bridge.protocol.audit.sealing import AuditKeys
from agui_bridge.protocol.audit.verifying import Mark, verify_chain, verify_questions
from agui_bridge.protocol.contract.transitions import moved
from agui_bridge.protocol.threads.records import AuditEntry, InterruptStatus, ThreadKey
from agui_bridge.stores.base import ABSENT, Change, Expected, Store
from tests.stores.conftest import Opener
from tests.stores.samples import KEY, OTHER, ask, full_interrupt, idle, interrupted, put
from tests.support.clock import FakeClock

KEYS = AuditKeys(["k" * 32])
OPENED = AuditEntry(InterruptStatus.OPEN, 1.0, "agent")


@pytest.fixture
async def store(opener: Opener) -> Store:
    opened = await opener()
    opened.audit.keys = KEYS
    return opened


async def asked(store: Store, key: ThreadKey = KEY) -> None:
    await put(store, interrupted(key), interrupts=(ask("a", audit=(OPENED,)),))


async def test_rows_come_with_the_commit_that_they_tell_of(store: Store) -> None:
    asks = (ask("a", audit=(OPENED,)), replace(full_interrupt(), batch="batch"))
    first = await put(store, interrupted(), interrupts=asks)
    done = moved(asks[0], InterruptStatus.RESOLVED, 2.0, "bob")
    await put(
        store,
        replace(first.record, status=idle().status, batch=None),
        Expected(version=first.record.version),
        interrupts=(done,),
    )
    loaded = await store.load(KEY, ["a"])
    rows = await store.audit.rows(KEY)
    assert loaded.record is not None
    head = loaded.record.chain
    assert head is not None
    assert len(rows) == head.seq == 5
    assert verify_chain(KEY, head.chain, rows, KEYS, [Mark.of(head)], is_whole=True) == []
    assert list(verify_questions(KEY, rows, loaded.interrupts, KEYS)) == []


async def test_a_refused_commit_writes_no_row(store: Store) -> None:
    await asked(store)
    with pytest.raises(Conflict):
        await put(store, idle(), Expected(version=7), interrupts=(ask("a", audit=(OPENED,) * 2),))
    assert len(await store.audit.rows(KEY)) == 1


async def test_a_retried_commit_writes_its_rows_once(store: Store) -> None:
    change = Change(interrupted(), interrupts=(ask("a", audit=(OPENED,)),))
    first = await store.commit(KEY, change, ABSENT, "write")
    again = await store.commit(KEY, change, ABSENT, "write")
    assert first.record.chain == again.record.chain
    assert len(await store.audit.rows(KEY)) == 1


async def test_without_keys_nothing_is_written(store: Store) -> None:
    store.audit.keys = None
    await asked(store)
    assert (await store.audit.rows(KEY), await store.audit.threads()) == ([], [])
    loaded = await store.load(KEY)
    assert loaded.record is not None
    assert loaded.record.chain is None


async def test_rows_stay_when_their_thread_is_deleted_or_pruned(
    store: Store, clock: FakeClock
) -> None:
    await asked(store)
    await put(store, idle(OTHER), interrupts=(ask("a", audit=(OPENED,)),))
    await store.delete(KEY, Expected(version=1000))
    clock.advance(100.0)
    assert await store.prune(50.0) == 1
    for key in (KEY, OTHER):
        assert (await store.load(key)).record is None
        assert len(await store.audit.rows(key)) == 1


async def test_a_thread_that_is_made_anew_has_a_chain_of_its_own(store: Store) -> None:
    await asked(store)
    before = await store.audit.rows(KEY)
    await store.delete(KEY, Expected(version=1000))
    await asked(store)
    rows = await store.audit.rows(KEY)
    assert len(rows) == 2
    assert before[0] in rows


async def test_threads_with_rows_are_listed_in_pages(store: Store) -> None:
    keys = [
        ThreadKey(scope, "agent/ü", f"t {number}") for scope in ("a", "a/b") for number in range(5)
    ]
    for key in keys:
        await asked(store, key)
    found: list[ThreadKey] = []
    while page := await store.audit.threads(after=found[-1] if found else None, limit=3):
        assert len(page) <= 3
        found += page
    assert sorted(map(str, found)) == sorted(map(str, keys))
    assert len(await store.audit.threads(scope="a")) == 5
    assert {key.scope for key in await store.audit.threads(scope="a/b", limit=4)} == {"a/b"}


async def test_rows_are_pruned_once_their_thread_is_gone_and_they_are_old(
    store: Store, clock: FakeClock
) -> None:
    await asked(store)
    await asked(store, OTHER)
    await store.delete(KEY, Expected(version=1000))
    age = clock.time() - OPENED.at
    assert await store.audit.prune(age + 1.0) == 0
    assert await store.audit.prune(age - 1.0) == 1
    assert await store.audit.threads() == [OTHER]
    assert await store.audit.rows(KEY) == []
