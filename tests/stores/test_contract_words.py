"""The store contract (stores/base.py), sentence by sentence: what a run is saying, kept beside."""

from dataclasses import replace

import pytest

from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Expected, Store, StoredMessage
from tests.stores.conftest import Opener
from tests.stores.samples import (
    KEY,
    LEASE,
    LEASE_SECONDS,
    ODD_JSON,
    OTHER,
    idle,
    interrupted,
    message,
    put,
    running,
    stop,
)
from tests.support.clock import FakeClock


def said(text: str, id: str = "m", position: int = 20_000) -> StoredMessage:
    return message(id, position, role="assistant", content=text)


async def test_what_is_kept_is_there_for_others_and_changes_nothing_else(
    opener: Opener, clock: FakeClock
) -> None:
    store, other = await opener(), await opener()
    before = (await put(store, running(), messages=(message("u", 10_000),))).record
    await store.request_stop(KEY, stop())
    looked = await store.load(KEY, messages=True)
    clock.advance(5)
    assert await store.words(KEY) is None
    assert await store.keep_words(KEY, "token", said("so far"))

    assert await other.words(KEY) == said("so far")
    assert await other.load(KEY, messages=True) == replace(looked, now=clock.time())
    assert await other.history(KEY) == [message("u", 10_000)]
    assert [row.messages for row in await other.list_threads("scope", "agent")] == [1]
    # The owner's next write is as if nothing had been.
    assert (await put(store, running(), LEASE)).record.version == before.version + 1


async def test_the_latest_takes_the_place_of_the_one_before(store: Store) -> None:
    await put(store, running())
    odd = StoredMessage("線 '\"\\", 2**62, {"id": "x", "content": "ü \u2028 \x00 🧵", **ODD_JSON})
    for each in (said("a"), said("a b"), said("another", "n"), odd):
        assert await store.keep_words(KEY, "token", each)
        assert await store.words(KEY) == each


async def test_a_long_text_is_kept_whole(store: Store) -> None:
    await put(store, running())
    assert await store.keep_words(KEY, "token", said("ü " * 100_000))
    assert await store.words(KEY) == said("ü " * 100_000)


async def test_only_who_holds_the_lease_keeps_words(store: Store, clock: FakeClock) -> None:
    await put(store, running())
    await put(store, interrupted(OTHER))
    assert not await store.keep_words(KEY, "another", said("x"))
    assert not await store.keep_words(OTHER, "token", said("x"))
    assert not await store.keep_words(replace(KEY, thread="gone"), "token", said("x"))
    assert await store.keep_words(KEY, "token", said("mine"))
    clock.advance(LEASE_SECONDS)
    assert not await store.keep_words(KEY, "token", said("late"))

    # Whoever recovers the thread finds what was said last.
    assert await store.words(KEY) == said("mine")
    assert await store.words(OTHER) is None
    assert await store.words(replace(KEY, thread="gone")) is None


async def test_a_renewed_lease_keeps_its_words(store: Store, clock: FakeClock) -> None:
    await put(store, running())
    await store.keep_words(KEY, "token", said("x"))
    clock.advance(20)
    await store.renew({"token": KEY}, LEASE_SECONDS)
    clock.advance(20)

    assert await store.words(KEY) == said("x")
    assert await store.keep_words(KEY, "token", said("x y"))


async def test_a_commit_takes_them_away_only_if_it_says_so(store: Store) -> None:
    await put(store, running())
    await store.keep_words(KEY, "token", said("x"))
    await put(store, running(), LEASE, messages=(message("c", 30_000),))
    assert await store.words(KEY) == said("x")
    await put(store, running(), LEASE, messages=(said("x y"),), drops_words=True)

    assert await store.words(KEY) is None
    assert await store.history(KEY) == [said("x y"), message("c", 30_000)]
    await store.keep_words(KEY, "token", said("z", "n"))
    await put(store, idle(), LEASE, drops_words=True)
    await put(store, running(), Expected(version=(await _version(store))))
    assert await store.words(KEY) is None


async def test_a_commit_that_is_refused_takes_nothing_away(store: Store) -> None:
    await put(store, running())
    await store.keep_words(KEY, "token", said("x"))
    with pytest.raises(Exception, match="lease"):
        await put(store, idle(), Expected(lease="another"), drops_words=True)
    assert await store.words(KEY) == said("x")


async def test_words_that_an_older_server_has_left_are_nobodys(store: Store) -> None:
    """It knows nothing of them, and takes them away with no end of a run."""
    await put(store, running())
    await store.keep_words(KEY, "token", said("x"))
    await put(store, idle(), LEASE)
    assert await store.words(KEY) is None
    await put(store, running(token="next"), Expected(version=(await _version(store))))
    assert await store.words(KEY) is None
    assert await store.keep_words(KEY, "next", said("y"))
    assert await store.words(KEY) == said("y")


@pytest.mark.parametrize("how", ["delete", "prune"])
async def test_they_go_with_the_thread(store: Store, clock: FakeClock, how: str) -> None:
    await put(store, running())
    await store.keep_words(KEY, "token", said("x"))
    if how == "delete":
        await store.delete(KEY, Expected(version=(await _version(store))))
    else:
        # As an older server ends a run.
        await put(store, idle(), LEASE)
        clock.advance(100)
        assert await store.prune(50) == 1
    # A new thread of that name has none of it, even under a token that comes again.
    await put(store, running())
    assert await store.words(KEY) is None


async def test_each_thread_has_its_own(store: Store) -> None:
    keys = [KEY, OTHER, replace(KEY, agent="b"), ThreadKey("sco/pe", "ä:g", "{線} 1")]
    for number, key in enumerate(keys):
        await put(store, running(key, f"token {number}"))
        assert await store.keep_words(key, f"token {number}", said(str(number)))
    assert [await store.words(key) for key in keys] == [said(str(n)) for n in range(len(keys))]


async def test_what_is_no_json_is_refused(store: Store) -> None:
    await put(store, running())
    await store.keep_words(KEY, "token", said("x"))
    with pytest.raises((TypeError, ValueError)):
        await store.keep_words(KEY, "token", message("m", 1, content=float("nan")))
    assert await store.words(KEY) == said("x")


async def _version(store: Store) -> int:
    record = (await store.load(KEY)).record
    assert record is not None
    return record.version
