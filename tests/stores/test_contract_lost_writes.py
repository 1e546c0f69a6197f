"""The store contract on every backend: an owner's write that names its last one."""

import pytest

from agui_bridge.errors import Fenced, WritesLost
from agui_bridge.stores.base import ABSENT, Change, Expected, Store
from tests.stores.samples import KEY, LEASE_SECONDS, message, put, running, stop
from tests.support.clock import FakeClock

CLAIM = Change(running(), lease_seconds=LEASE_SECONDS)


def after(write_id: str, lease: str = "token") -> Expected:
    """The guard of an owner who has written that last."""
    return Expected(lease=lease, after=write_id)


async def test_the_write_after_ones_last_is_taken(store: Store) -> None:
    await store.commit(KEY, CLAIM, ABSENT, "claim")
    # Neither changes what was written last.
    await store.renew({"token": KEY}, LEASE_SECONDS)
    await store.request_stop(KEY, stop())

    change = Change(running(), messages=(message("m", 1),), lease_seconds=LEASE_SECONDS)
    await store.commit(KEY, change, after("claim"), "next")
    again = await store.commit(KEY, Change(running(state="last")), after("next"), "last")

    assert again.record.state == "last"
    assert [row.id for row in await store.history(KEY)] == ["m"]


async def test_a_write_after_one_that_is_not_there_is_refused(store: Store) -> None:
    claimed = await store.commit(KEY, CLAIM, ABSENT, "claim")
    change = Change(running(), messages=(message("m", 1),), lease_seconds=LEASE_SECONDS)
    with pytest.raises(WritesLost):
        await store.commit(KEY, change, after("lost"), "next")

    assert (await store.load(KEY)).record == claimed.record
    assert await store.history(KEY) == []
    # Whoever knows what is there may go on.
    done = await store.commit(KEY, change, after("claim"), "next")
    assert done.record.write_id == "next"


async def test_a_write_that_had_arrived_counts_whatever_it_names(store: Store) -> None:
    await store.commit(KEY, CLAIM, ABSENT, "claim")
    first = await store.commit(KEY, Change(running(state=1)), after("claim"), "next")
    again = await store.commit(KEY, Change(running(state=1)), after("claim"), "next")

    assert again.record == first.record


async def test_whose_lease_is_over_is_told_that_first(store: Store, clock: FakeClock) -> None:
    await store.commit(KEY, CLAIM, ABSENT, "claim")
    with pytest.raises(Fenced):
        await put(store, running(), after("lost", "another"))
    clock.advance(LEASE_SECONDS)
    with pytest.raises(Fenced):
        await put(store, running(), after("lost"))
