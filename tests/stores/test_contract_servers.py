"""Every store: which servers work on it, and which version wrote its newest records."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agui_bridge.protocol.threads.records import RECORD_FORMAT
from agui_bridge.stores.base import Expected, Store
from agui_bridge.stores.servers import KEPT_SECONDS, NEWEST, Server
from tests.stores.conftest import Opener
from tests.stores.older_version import writing_as_before
from tests.stores.samples import KEY, ask, idle, interrupted, put
from tests.support.clock import FakeClock

ONE = Server("one é", "0.1.0", RECORD_FORMAT, ("ops", "ma il"))
TWO = Server("two", "0.0.9", 0)


async def test_servers_are_seen_by_all_until_they_end_or_are_silent_for_long(
    opener: Opener, clock: FakeClock
) -> None:
    here, there = await opener(), await opener()
    began = clock.time()
    await here.servers.note(ONE)
    await there.servers.note(TWO)
    clock.advance(30)
    await here.servers.note(ONE)
    both = await there.servers.look()
    clock.advance(KEPT_SECONDS - 30)
    await here.servers.note(ONE)
    silent = await there.servers.look()
    await here.servers.forget(ONE.id)
    await here.servers.forget("nobody")

    assert both.now == began + 30
    assert {one.id: one for one in both.noted} == {
        ONE.id: replace(ONE, since=began, seen_at=began + 30),
        TWO.id: replace(TWO, since=began, seen_at=began),
    }
    assert [one.id for one in silent.noted] == [ONE.id]
    assert (await there.servers.look()).noted == ()


@pytest.mark.parametrize("waits", [False, True], ids=["idle", "waits"])
@pytest.mark.parametrize("older", [False, True], ids=["new", "older"])
async def test_the_newest_records_tell_which_version_wrote_them(
    store: Store, clock: FakeClock, waits: bool, older: bool
) -> None:
    before = (await store.servers.look()).written
    with writing_as_before(older):
        if waits:
            await put(store, interrupted(), interrupts=(ask("i1"),))
        else:
            await put(store, idle())
    found = (await store.servers.look()).written

    assert before == ()
    assert {(one.format, one.at) for one in found} == {
        (0 if older else RECORD_FORMAT, clock.time())
    }


async def test_a_record_that_is_loaded_is_noticed_however_old_it_is(
    store: Store, clock: FakeClock
) -> None:
    with writing_as_before():
        await put(store, idle())
    old = clock.time()
    clock.advance(1)
    for number in range(NEWEST):
        await put(store, idle(replace(KEY, thread=f"t{number}")))
    before = (await store.servers.look()).written
    loaded = await store.load(KEY)
    after = (await store.servers.look()).written

    assert loaded.record is not None
    assert loaded.record.format == 0
    # A cluster or Redis has the newest of each shard.
    assert {one.format for one in after} == {0, RECORD_FORMAT}
    assert len(before) >= NEWEST
    assert (0, old) in {(one.format, one.at) for one in after}


async def test_what_this_version_writes_again_is_its_own(store: Store) -> None:
    with writing_as_before():
        old = (await put(store, idle())).record
    loaded = await store.load(KEY)
    assert loaded.record is not None
    done = await put(store, loaded.record, Expected(version=old.version))
    again = await store.load(KEY)

    assert again.record is not None
    assert (done.record.format, again.record.format) == (RECORD_FORMAT, RECORD_FORMAT)
