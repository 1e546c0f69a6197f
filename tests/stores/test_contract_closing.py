"""Every store: notices of which something is still to become, and the closing of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from agui_bridge.protocol.threads.records import InterruptStatus
from agui_bridge.stores.base import Expected, Store
from agui_bridge.stores.deliveries import Delivery, DeliveryState
from tests.stores.samples import KEY, ask, idle, interrupted, put
from tests.stores.test_contract_deliveries import QUESTION, asked, told
from tests.support.clock import FakeClock

ELSEWHERE = replace(KEY, scope="elsewhere")


async def sent(store: Store, *rows: Delivery, state: DeliveryState) -> None:
    """Deliveries that somebody claimed, and what became of them."""
    await store.deliveries.plan(QUESTION, rows)
    for one in await store.deliveries.claim(rows[0].channel, "lease", lease_seconds=30):
        await store.deliveries.finish(one, state, noted={"ts": "1.2"}, error="HTTP 500")


async def left(
    store: Store, *, channel: str | None = None, but: Collection[str] = (), limit: int = 200
) -> set[str]:
    found = await store.deliveries.left(KEY.scope, channel=channel, but=but, limit=limit)
    return {one.id for one in found}


async def test_what_is_left_is_queued_or_dead_or_would_have_to_be_changed(store: Store) -> None:
    record = await asked(store)
    for state in ("sent", "dead", "dropped"):
        await sent(store, told(state, channel=state), state=state)
    await store.deliveries.plan(QUESTION, [told("queued"), told("its", channel="")])
    while_open = await left(store)
    done = ask("i1", status=InterruptStatus.RESOLVED)
    await put(store, idle(), Expected(version=record.version), interrupts=(done,))

    assert while_open == {"queued", "dead", "sent"}
    assert await left(store) == {"queued", "dead"}
    assert await left(store, channel="dead") == {"dead"}
    assert await left(store, but=("ops", "sent")) == {"dead"}
    assert len(await left(store, limit=1)) == 1
    assert await store.deliveries.left("elsewhere") == []


@pytest.mark.parametrize(
    ("state", "then"), [("queued", "dropped"), ("dead", "dropped"), ("sent", "sent")]
)
async def test_one_that_is_closed_says_by_whom_and_is_never_told_as_another(
    store: Store, clock: FakeClock, state: DeliveryState, then: DeliveryState
) -> None:
    await asked(store)
    await sent(store, told("d1"), state=state)
    (before,) = await store.deliveries.left(KEY.scope)
    clock.advance(5)
    closed = await store.deliveries.close(before, "ann é")
    again = await store.deliveries.close(before, "bob")
    (after,) = await store.deliveries.of_question(QUESTION)

    assert (closed, again) == (True, False)
    now = clock.time()
    assert after == replace(before, state=then, updated_at=now, closed_by="ann é")
    assert await store.deliveries.close(after, "bob") is False
    assert await store.deliveries.left(KEY.scope) == []
    assert await store.deliveries.claim("ops", "other", lease_seconds=30) == []
    assert await store.deliveries.list_deliveries(KEY.scope) == [after]


async def test_one_that_was_never_tried_is_closed(store: Store) -> None:
    await asked(store)
    await store.deliveries.plan(QUESTION, [told("d1", due_at=1e12)])
    (before,) = await store.deliveries.left(KEY.scope)
    closed = await store.deliveries.close(before, "ann")
    (after,) = await store.deliveries.of_question(QUESTION)

    assert closed
    assert (after.state, after.noted, after.closed_by) == ("dropped", None, "ann")


async def test_one_that_is_being_sent_is_left_until_its_claim_is_over(
    store: Store, clock: FakeClock
) -> None:
    await asked(store)
    await store.deliveries.plan(QUESTION, [told("d1")])
    (listed,) = await store.deliveries.left(KEY.scope)
    (claimed,) = await store.deliveries.claim("ops", "lease", lease_seconds=30)
    changed = await store.deliveries.close(listed, "ann")
    held = await store.deliveries.close(claimed, "ann")
    clock.advance(30)
    over = await store.deliveries.close(claimed, "ann")

    assert (changed, held, over) == (False, False, True)
    # Whoever sends it after all can't say so any more.
    assert await store.deliveries.finish(claimed, "sent") is False


async def test_another_scopes_stay(store: Store) -> None:
    await asked(store)
    other = ask("i1", batch="b")
    await put(store, interrupted(ELSEWHERE, batch="b"), interrupts=(other,))
    for key in (KEY, ELSEWHERE):
        await store.deliveries.plan((key, "i1"), [replace(told("d1"), key=key)])
    (mine,) = await store.deliveries.left(KEY.scope)
    await store.deliveries.close(mine, "ann")

    (theirs,) = await store.deliveries.left("elsewhere")
    assert (theirs.state, theirs.closed_by) == ("queued", None)
