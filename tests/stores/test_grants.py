"""Remembered decisions on every store: counted once, ended at once, whoever asks."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from agui_bridge.protocol.grants import Grant
from agui_bridge.stores.base import Store
from tests.stores.conftest import Opener
from tests.stores.samples import ODD_JSON
from tests.support.clock import FakeClock

RACERS = 20


def grant(clock: FakeClock, id: str = "g/1", **members: object) -> Grant:
    made = Grant(
        id=id,
        scope="team é",
        agent="ops",
        tool="send mail",
        rule="mail",
        holder="actor",
        held_by="änn",
        args=ODD_JSON,
        matchers={"/int": {"max": 7}, "/text": "any"},
        granted_by="bob",
        created_at=clock.time(),
        expires_at=clock.time() + 60.0,
    )
    return replace(made, **members)  # type: ignore[arg-type]


async def found(store: Store) -> list[str]:
    return [one.id for one in await store.grants.find("team é", "ops", ["send mail", "x"])]


async def test_a_decision_comes_back_as_it_went(store: Store, clock: FakeClock) -> None:
    made = grant(clock, max_uses=3)
    await store.grants.add(made)
    await store.grants.add(replace(made, granted_by="eve"))
    assert await store.grants.list("team é") == [made]
    assert await store.grants.find("team é", "ops", ["send mail"]) == [made]
    assert await store.grants.find("team é", "ops", ["other"]) == []
    assert await store.grants.find("team é", "other", ["send mail"]) == []
    assert await store.grants.find("other", "ops", ["send mail"]) == []
    assert await store.grants.list("other") == []


async def test_the_scopes_are_those_that_have_decisions(store: Store, clock: FakeClock) -> None:
    assert await store.grants.scopes() == []
    for id, scope in (("1", "team é"), ("2", "a b"), ("3", "team é")):
        await store.grants.add(grant(clock, id, scope=scope))
    assert await store.grants.scopes() == ["a b", "team é"]


async def test_decisions_are_listed_newest_first(store: Store, clock: FakeClock) -> None:
    for number in range(4):
        await store.grants.add(grant(clock, str(number)))
        clock.advance(1.0)
    assert [one.id for one in await store.grants.list("team é", 3)] == ["3", "2", "1"]


async def test_uses_are_counted_up_to_the_last(store: Store, clock: FakeClock) -> None:
    await store.grants.add(grant(clock, max_uses=2))
    used = [await store.grants.use("team é", "g/1") for _ in range(3)]
    assert used == [True, True, False]
    assert [one.uses for one in await store.grants.list("team é")] == [2]
    assert await found(store) == []


async def test_one_that_is_over_is_not_used(store: Store, clock: FakeClock) -> None:
    await store.grants.add(grant(clock))
    clock.advance(60.0)
    assert not await store.grants.use("team é", "g/1")
    assert await found(store) == []


async def test_one_that_is_revoked_is_not_used(store: Store, clock: FakeClock) -> None:
    await store.grants.add(grant(clock))
    assert await store.grants.revoke("team é", "g/1", "cäsar d")
    assert not await store.grants.revoke("team é", "g/1", "eve")
    assert not await store.grants.use("team é", "g/1")
    (ended,) = await store.grants.list("team é")
    assert ended.revoked_at == pytest.approx(clock.time())
    assert ended.revoked_by == "cäsar d"
    assert await found(store) == []


async def test_one_of_another_scope_is_neither_used_nor_revoked(
    store: Store, clock: FakeClock
) -> None:
    await store.grants.add(grant(clock))
    assert not await store.grants.use("other", "g/1")
    assert not await store.grants.revoke("other", "g/1", "eve")
    assert not await store.grants.use("team é", "unknown")


async def test_what_is_over_for_long_is_pruned_and_what_stands_stays(
    store: Store, clock: FakeClock
) -> None:
    late = clock.time() + 1e6
    for id, members in {
        "expired": {},
        "revoked": {"expires_at": late},
        "used up": {"expires_at": late, "max_uses": 1},
        "used once": {"expires_at": late, "max_uses": 2},
        "never used": {"expires_at": late},
    }.items():
        await store.grants.add(grant(clock, id, **members))
    await store.grants.add(grant(clock, "expired", scope="other"))
    assert await store.grants.revoke("team é", "revoked", "ann")
    assert await store.grants.use("team é", "used up")
    assert await store.grants.use("team é", "used once")
    clock.advance(159.0)
    assert await store.grants.prune(160.0) == 0
    clock.advance(1.0)
    assert await store.grants.prune(160.0, dry_run=True) == 2
    assert len(await store.grants.list("team é")) == 5
    assert await store.grants.prune(160.0) == 2
    clock.advance(60.0)
    assert await store.grants.prune(160.0, dry_run=True) == 2
    assert [await store.grants.prune(160.0, 1) for _ in range(3)] == [1, 1, 0]
    kept = await store.grants.list("team é")
    assert [(one.id, one.uses) for one in kept] == [("never used", 0), ("used once", 1)]
    assert await store.grants.list("other") == []
    assert await store.grants.use("team é", "used once")


async def test_one_that_is_made_anew_after_pruning_has_no_past(
    store: Store, clock: FakeClock
) -> None:
    await store.grants.add(grant(clock, max_uses=1))
    assert await store.grants.use("team é", "g/1")
    assert await store.grants.revoke("team é", "g/1", "ann")
    assert await store.grants.prune(0.0) == 1
    await store.grants.add(grant(clock, max_uses=1))
    assert await found(store) == ["g/1"]
    assert [await store.grants.use("team é", "g/1") for _ in range(2)] == [True, False]
    assert await store.grants.prune(0.0) == 1


@pytest.mark.parametrize("most", [1, 3])
async def test_of_racers_no_more_than_allowed_use_it(
    opener: Opener, clock: FakeClock, most: int
) -> None:
    one, other = await opener(), await opener()
    await one.grants.add(grant(clock, max_uses=most))
    used = await asyncio.gather(
        *(store.grants.use("team é", "g/1") for store in (one, other) for _ in range(RACERS))
    )
    assert sum(used) == most


async def test_once_revoking_has_returned_nobody_uses_it(opener: Opener, clock: FakeClock) -> None:
    one, other = await opener(), await opener()
    await one.grants.add(grant(clock))
    revoked = asyncio.Event()
    after: list[bool] = []

    async def use() -> None:
        for _ in range(RACERS):
            is_over = revoked.is_set()
            used = await other.grants.use("team é", "g/1")
            if is_over:
                after.append(used)

    async def revoke() -> None:
        await one.grants.revoke("team é", "g/1", "ann")
        revoked.set()

    await asyncio.gather(use(), revoke())
    await use()
    assert after and not any(after)
