"""The store contract (stores/base.py), sentence by sentence, on every backend: reading."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import Batch, InterruptStatus, ThreadKey, ThreadRecord
from agui_bridge.stores.base import (
    ABSENT,
    Change,
    Due,
    Expected,
    QuestionFilter,
    Store,
)
from tests.stores.conftest import Opener
from tests.stores.samples import (
    KEY,
    LEASE,
    LEASE_SECONDS,
    OTHER,
    ask,
    idle,
    interrupted,
    message,
    put,
    receipt,
    running,
    stop,
    write_id,
)
from tests.support.clock import FakeClock

# --- load ---


async def test_a_missing_thread_loads_as_nothing(store: Store, clock: FakeClock) -> None:
    assert await store.load(KEY, ["a"], messages=True) == Loaded(None, clock.time())


async def test_the_same_ids_under_another_key_are_other_rows(store: Store) -> None:
    others = [replace(KEY, **{part: "x"}) for part in ("scope", "agent", "thread")]
    for key in (KEY, *others):
        await put(
            store,
            interrupted(key, state=key.scope + key.agent + key.thread),
            interrupts=(ask("a", message=f"{key}"),),
            receipts=(receipt(code=f"{key}"),),
            messages=(message("m", 1, content=f"{key}"),),
        )

    for key in (KEY, *others):
        loaded = await store.load(key, ["a"], messages=True)
        assert loaded.record is not None
        assert loaded.record.key == key
        assert loaded.interrupts == {"a": ask("a", message=f"{key}")}
        assert loaded.receipts == {"batch": receipt(code=f"{key}")}
        assert loaded.messages == (message("m", 1, content=f"{key}"),)


async def test_load_brings_the_own_batch_and_no_other(store: Store) -> None:
    asks = (ask("a", "one"), ask("b", "two"), ask("c", "two", position=1))
    await put(store, interrupted(batch="two"), interrupts=asks, receipts=(receipt("one"),))

    loaded = await store.load(KEY)
    assert set(loaded.interrupts) == {"b", "c"}
    assert loaded.receipts == {}
    assert [interrupt.id for interrupt in loaded.batch_interrupts()] == ["b", "c"]


async def test_load_brings_whole_batches_of_the_ids_with_their_receipts(store: Store) -> None:
    asks = (ask("a", "one"), ask("b", "one"), ask("c", "two"), ask("d", "three"))
    receipts = tuple(receipt(batch) for batch in ("one", "two", "three"))
    await put(store, idle(), interrupts=asks, receipts=receipts)

    loaded = await store.load(KEY, ["b", "d", "unknown", "b"])
    assert set(loaded.interrupts) == {"a", "b", "d"}
    assert loaded.receipts == {"one": receipt("one"), "three": receipt("three")}


async def test_load_brings_the_receipt_of_an_input_that_is_asked_for(store: Store) -> None:
    told = receipt("input-é", outcome="claimed")
    await put(store, idle(), interrupts=(ask("a", "one"),), receipts=(told, receipt("one")))

    assert (await store.load(KEY, receipt="input-é")).receipts == {"input-é": told}
    both = await store.load(KEY, ["a"], messages=True, receipt="input-é")
    assert both.receipts == {"input-é": told, "one": receipt("one")}
    assert (await store.load(KEY)).receipts == {}
    assert (await store.load(KEY, receipt="input-e")).receipts == {}


async def test_load_takes_any_number_of_ids(store: Store) -> None:
    await put(store, idle(), interrupts=tuple(ask(f"i{n}", f"b{n}") for n in range(1200)))

    ids = [f"i{n}" for n in range(1200)] + [f"unknown{n}" for n in range(40_000)]
    assert len((await store.load(KEY, ids)).interrupts) == 1200


async def test_messages_come_in_order_without_the_superseded_and_only_when_asked(
    store: Store,
) -> None:
    rows = tuple(message(f"m{n}", n) for n in (30, 10, -5, 20))
    await put(store, idle(), messages=rows, superseded=("m20", "unknown"))

    loaded = await store.load(KEY, messages=True)
    assert [row.id for row in loaded.messages] == ["m-5", "m10", "m30"]
    assert (await store.load(KEY)).messages == ()
    assert [row.id for row in await store.history(KEY)] == ["m-5", "m10", "m20", "m30"]


async def test_rows_are_written_by_id_and_what_is_not_named_stays(store: Store) -> None:
    await put(
        store,
        interrupted(),
        interrupts=(ask("a"), ask("b")),
        messages=(message("m", 1), message("n", 2)),
    )
    await put(
        store,
        interrupted(),
        Expected(version=1000),
        interrupts=(ask("b", status=InterruptStatus.ANSWERED),),
        messages=(message("n", 0, content="new"), message("o", 3)),
    )

    loaded = await store.load(KEY, messages=True)
    assert loaded.interrupts == {
        "a": ask("a"),
        "b": ask("b", status=InterruptStatus.ANSWERED),
    }
    assert loaded.messages == (message("n", 0, content="new"), message("m", 1), message("o", 3))


async def test_a_superseded_message_that_is_written_again_is_back_in_context(
    store: Store,
) -> None:
    await put(store, idle(), messages=(message("m", 1),))
    await put(store, idle(), Expected(version=1000), superseded=("m",))
    assert (await store.load(KEY, messages=True)).messages == ()
    await put(store, idle(), Expected(version=1001), messages=(message("m", 1),))

    assert (await store.load(KEY, messages=True)).messages == (message("m", 1),)


# --- lists ---


async def test_threads_are_listed_last_touched_first(store: Store, clock: FakeClock) -> None:
    for name in ("a", "b", "c"):
        await put(store, idle(replace(KEY, thread=name)))
        clock.advance(1)
    touched = await put(store, idle(replace(KEY, thread="a")), Expected(version=1000))
    await put(store, idle(replace(KEY, agent="other")))
    await put(store, idle(replace(KEY, scope="other")))

    async def names(**options: Any) -> list[str]:
        rows = await store.list_threads("scope", "agent", **options)
        return [row.record.key.thread for row in rows]

    assert await names() == ["a", "c", "b"]
    assert await names(limit=2) == ["a", "c"]
    assert await names(before=touched.now) == ["c", "b"]
    assert await names(before=touched.now - 1, limit=1) == ["b"]
    assert await store.list_threads("nobody", "agent") == []


async def test_a_listed_thread_counts_its_messages_and_open_interrupts(
    store: Store, clock: FakeClock
) -> None:
    asks = (
        ask("a"),
        ask("b", expires_at=clock.time() + 10),
        ask("c", status=InterruptStatus.ANSWERED),
        ask("d", "earlier", status=InterruptStatus.RESOLVED),
    )
    rows = (message("m", 1), message("n", 2), message("o", 3))
    done = await put(store, interrupted(), interrupts=asks, messages=rows, superseded=("o",))

    (row,) = await store.list_threads("scope", "agent")
    assert (row.record, row.messages, row.open_interrupts) == (done.record, 2, 2)
    clock.advance(10)
    (row,) = await store.list_threads("scope", "agent")
    assert row.open_interrupts == 1


async def test_interrupts_are_listed_oldest_first_with_filters(
    store: Store, clock: FakeClock
) -> None:
    elsewhere = replace(KEY, agent="other")
    await put(store, interrupted(OTHER), interrupts=(ask("b"), ask("a", position=1)))
    clock.advance(1)
    await put(store, interrupted(), interrupts=(ask("a"),))
    clock.advance(1)
    await put(store, interrupted(elsewhere), interrupts=(ask("z"),))
    await put(store, interrupted(replace(KEY, scope="other")), interrupts=(ask("hidden"),))
    # Answering makes an interrupt no younger.
    answered = ask("b", status=InterruptStatus.ANSWERED)
    await put(store, interrupted(OTHER), Expected(version=1000), interrupts=(answered,))

    async def ids(limit: int = 200, **wanted: Any) -> list[tuple[ThreadKey, str]]:
        which = QuestionFilter(**wanted)
        rows = await store.list_interrupts("scope", which, limit=limit)
        return [(row.key, row.interrupt.id) for row in rows]

    everything = [(OTHER, "b"), (OTHER, "a"), (KEY, "a"), (elsewhere, "z")]
    assert await ids() == everything
    assert await ids(limit=3) == everything[:3]
    assert await ids(agent="agent") == everything[:3]
    assert await ids(thread="other") == everything[:2]
    assert await ids(agent="other", thread="thread") == everything[3:]
    assert await ids(status=InterruptStatus.OPEN) == everything[1:]
    assert await ids(status=InterruptStatus.ANSWERED, agent="agent") == everything[:1]
    assert await ids(status=InterruptStatus.CLAIMED) == []
    assert await store.list_interrupts("nobody") == []


async def test_the_list_of_open_interrupts_leaves_expired_ones_out(
    store: Store, clock: FakeClock
) -> None:
    asks = (ask("a"), ask("b", expires_at=clock.time() + 10))
    await put(store, interrupted(), interrupts=asks)

    async def ids(status: InterruptStatus | None) -> list[str]:
        rows = await store.list_interrupts("scope", QuestionFilter(status=status))
        return [row.interrupt.id for row in rows]

    assert await ids(InterruptStatus.OPEN) == ["a", "b"]
    clock.advance(10)
    assert await ids(InterruptStatus.OPEN) == ["a"]
    assert await ids(None) == ["a", "b"]


async def test_the_history_of_a_missing_thread_is_empty(store: Store) -> None:
    assert await store.history(KEY) == []


# --- due ---


async def test_a_thread_is_due_once_its_lease_is_over(store: Store, clock: FakeClock) -> None:
    await put(store, running())
    clock.advance(LEASE_SECONDS - 0.5)
    assert await store.due() == []
    clock.advance(0.5)
    assert await store.due() == [Due(KEY, "lease")]

    await put(store, idle(), Expected(version=1000))
    assert await store.due() == []


async def test_a_renewed_lease_is_not_due(store: Store, clock: FakeClock) -> None:
    await put(store, running())
    clock.advance(20)
    await put(store, running(), LEASE)
    clock.advance(20)

    assert await store.due() == []


async def test_a_thread_is_due_once_every_ask_has_expired(store: Store, clock: FakeClock) -> None:
    soon, later = clock.time() + 5, clock.time() + 10
    both = (
        ask("a", expires_at=soon),
        ask("b", expires_at=later, status=InterruptStatus.ANSWERED),
    )
    await put(store, interrupted(), interrupts=both)
    await put(store, interrupted(OTHER), interrupts=(*both, ask("c")))
    clock.advance(9)
    assert await store.due() == []
    clock.advance(1)
    assert await store.due() == [Due(KEY, "expiry")]


RUNNING_BATCH = running(batch=Batch("batch"))


@pytest.mark.parametrize("record", [idle(), running(), RUNNING_BATCH, interrupted(batch="another")])
async def test_expired_asks_of_no_open_batch_are_not_due(
    store: Store, clock: FakeClock, record: ThreadRecord
) -> None:
    expired = ask("a", expires_at=clock.time() - 1)
    await put(store, record, interrupts=(expired, ask("b", "another")))

    assert await store.due() == []


async def test_expired_asks_that_wait_for_nothing_are_not_due(
    store: Store, clock: FakeClock
) -> None:
    settled = ask("a", expires_at=clock.time() - 1, status=InterruptStatus.CLAIMED)
    await put(store, interrupted(), interrupts=(settled,))

    assert await store.due() == []


async def test_due_covers_all_scopes_and_names_none_twice(store: Store, clock: FakeClock) -> None:
    keys = [ThreadKey(f"scope{n}", "agent", "thread") for n in range(6)]
    for n, key in enumerate(keys):
        if n % 2:
            await put(store, running(key))
        else:
            asks = tuple(ask(id, expires_at=clock.time() + 1) for id in ("a", "b", "c"))
            await put(store, interrupted(key), interrupts=asks)
    clock.advance(LEASE_SECONDS)

    due = await store.due()
    assert sorted(item.key.scope for item in due) == [key.scope for key in keys]
    assert len(await store.due(limit=2)) == 2
    assert len(await store.due(limit=4)) == 4


# --- ping and watch ---


async def test_ping_gives_the_stores_time(store: Store, clock: FakeClock) -> None:
    assert await store.ping() == clock.time()


async def test_watch_yields_at_once_and_on_every_change(store: Store) -> None:
    async with asyncio.timeout(5):
        changes = store.watch(KEY)
        await anext(changes)
        done = await put(store, running())
        await anext(changes)
        await store.request_stop(KEY, stop())
        await anext(changes)
        await store.delete(KEY, Expected(version=done.record.version))
        await anext(changes)
        await changes.aclose()


async def test_watch_wakes_at_once_within_the_process(store: Store) -> None:
    loop = asyncio.get_running_loop()
    changes = store.watch(KEY)
    await anext(changes)
    expected, took = ABSENT, []
    for _ in range(5):  # one of them, at least, on a machine that has other things to do
        waiting = asyncio.ensure_future(anext(changes))
        # Early in a pause of 0.4 s between two looks, which only a wake-up cuts short.
        await asyncio.sleep(0.4)
        done = await store.commit(KEY, Change(idle()), expected, write_id())
        began = loop.time()
        await waiting
        took.append(loop.time() - began)
        expected = Expected(version=done.record.version)
        if took[-1] < 0.2:
            break

    assert min(took) < 0.2
    await changes.aclose()


async def test_watch_sees_the_changes_of_other_stores(opener: Opener) -> None:
    one, other = await opener(), await opener()
    changes = one.watch(KEY)
    await anext(changes)
    waiting = asyncio.ensure_future(anext(changes))
    await put(other, idle())

    await asyncio.wait_for(waiting, 20)
    await changes.aclose()


async def test_who_watches_stops_hears_of_those_that_other_stores_took(opener: Opener) -> None:
    one, other = await opener(), await opener()
    await put(one, running())
    hints = one.watch_stops()
    await anext(hints)
    for until in (3.0, 2.0):
        waiting = asyncio.ensure_future(anext(hints))
        # Time for the connection that listens, and for a look at what is there.
        await asyncio.sleep(0.2)
        await other.request_stop(KEY, stop(until=until))
        await asyncio.wait_for(waiting, 20)
        (found,) = await one.stops([stop().token])
        assert found.until == until
    await hints.aclose()


@pytest.mark.parametrize("watched", ["a thread", "stops"])
async def test_who_is_cancelled_as_a_hint_comes_watches_no_more(store: Store, watched: str) -> None:
    """Else a server that ends as somebody asks for a stop would wait for its watcher for ever."""
    await put(store, running())
    hints = store.watch(KEY) if watched == "a thread" else store.watch_stops()
    await anext(hints)

    async def watch() -> None:
        async for _ in hints:
            pass

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0.1)
    await store.request_stop(KEY, stop(until=3.0))
    # The hint is there, and the watcher has not had its turn since.
    watching.cancel()
    await asyncio.wait({watching}, timeout=5)

    assert watching.cancelled()
    await hints.aclose()


async def test_watch_is_never_silent_for_long(store: Store) -> None:
    changes = store.watch(KEY)
    await anext(changes)

    await asyncio.wait_for(anext(changes), 1.5)
    await changes.aclose()
