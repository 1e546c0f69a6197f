"""Every store: what is to be told of questions, and who takes it."""

import asyncio
from dataclasses import replace
from typing import Any

from agui_bridge.protocol.threads.records import InterruptStatus, ThreadRecord
from agui_bridge.stores.base import Expected, Store
from agui_bridge.stores.deliveries import Asked, Delivery
from tests.stores.conftest import Opener
from tests.stores.samples import KEY, OTHER, ask, idle, interrupted, put
from tests.support.clock import FakeClock

QUESTION: Asked = (KEY, "i1")


def told(id: str, *, channel: str = "ops", due_at: float = 0.0, event: str = "opened") -> Delivery:
    """A delivery of `QUESTION` as it is planned."""
    return Delivery(KEY, id, "i1", channel, event, due_at)


async def asked(store: Store, *ids: str, **fields: Any) -> ThreadRecord:
    """A thread that waits for answers."""
    asks = tuple(ask(id, position=at, **fields) for at, id in enumerate(ids or ("i1",)))
    return (await put(store, interrupted(), interrupts=asks)).record


async def close(store: Store, record: ThreadRecord) -> None:
    """The question is answered."""
    done = ask("i1", status=InterruptStatus.RESOLVED)
    await put(store, idle(), Expected(version=record.version), interrupts=(done,))


async def test_an_open_question_is_unannounced_until_it_is_planned(store: Store) -> None:
    await asked(store, "i1", "i2")

    before = await store.deliveries.unannounced()
    await store.deliveries.plan(QUESTION)

    assert sorted(before) == [(KEY, "i1"), (KEY, "i2")]
    assert await store.deliveries.unannounced() == [(KEY, "i2")]
    assert len(await store.deliveries.unannounced(limit=1)) == 1


async def test_what_is_closed_or_expired_needs_no_announcing(
    store: Store, clock: FakeClock
) -> None:
    record = await asked(store)
    await close(store, record)
    late = ask("i1", batch="late", expires_at=clock.time() + 5)
    await put(store, interrupted(OTHER, batch="late"), interrupts=(late,))
    waiting = await store.deliveries.unannounced()
    clock.advance(6)

    assert waiting == [(OTHER, "i1")]
    assert await store.deliveries.unannounced() == []


async def test_a_question_is_over_once_it_is_closed_until_that_is_planned(store: Store) -> None:
    record = await asked(store)
    await store.deliveries.plan(QUESTION)
    before = await store.deliveries.over()
    await close(store, record)
    after = await store.deliveries.over()
    await store.deliveries.plan(QUESTION, over=True)
    # Whoever was slow changes nothing.
    await store.deliveries.plan(QUESTION)

    assert (before, after) == ([], [QUESTION])
    assert await store.deliveries.over() == []
    assert await store.deliveries.unannounced() == []


async def test_a_question_is_over_when_its_time_is(store: Store, clock: FakeClock) -> None:
    await asked(store, expires_at=clock.time() + 5)
    await store.deliveries.plan(QUESTION)
    before = await store.deliveries.over()
    clock.advance(5)

    assert before == []
    assert await store.deliveries.over() == [QUESTION]


async def test_more_time_keeps_a_question_from_being_over(store: Store, clock: FakeClock) -> None:
    record = await asked(store, expires_at=clock.time() + 5)
    await store.deliveries.plan(QUESTION)
    later = ask("i1", expires_at=clock.time() + 50)
    await put(store, interrupted(), Expected(version=record.version), interrupts=(later,))
    clock.advance(10)
    before = await store.deliveries.over()
    clock.advance(40)

    assert before == []
    assert await store.deliveries.over() == [QUESTION]


async def test_a_question_that_was_closed_before_it_was_planned_is_over(store: Store) -> None:
    record = await asked(store)
    await close(store, record)
    await store.deliveries.plan(QUESTION, [told("d1")])

    assert await store.deliveries.over() == [QUESTION]


async def test_a_delivery_is_inserted_once(store: Store, clock: FakeClock) -> None:
    await asked(store)
    first = await store.deliveries.plan(QUESTION, [told("d1", due_at=7.5), told("d 2:%")])
    again = await store.deliveries.plan(QUESTION, [told("d1", due_at=9.0), told("d3")])
    found = {one.id: one for one in await store.deliveries.of_question(QUESTION)}

    assert (first, again) == (2, 1)
    assert set(found) == {"d1", "d 2:%", "d3"}
    now = clock.time()
    assert found["d1"] == replace(told("d1", due_at=7.5), created_at=now, updated_at=now)


async def test_the_scopes_are_those_that_have_deliveries(store: Store) -> None:
    record = await asked(store)
    none = await store.deliveries.scopes()
    await store.deliveries.plan(QUESTION, [told("d1")])
    some = await store.deliveries.scopes()
    await store.delete(KEY, Expected(version=record.version))

    assert (none, some, await store.deliveries.scopes()) == ([], [KEY.scope], [])


async def test_of_a_question_that_is_not_there_nothing_is_planned(store: Store) -> None:
    await asked(store)

    assert await store.deliveries.plan((KEY, "other"), [told("d1")]) == 0
    assert await store.deliveries.plan((OTHER, "i1"), [told("d1")]) == 0
    assert await store.deliveries.list_deliveries("scope") == []


async def test_what_is_due_is_claimed_once_and_the_longest_due_first(
    store: Store, clock: FakeClock
) -> None:
    now = clock.time()
    await asked(store)
    times = {"a": now - 2, "b": now - 3, "c": now - 1, "later": now + 10}
    rows = [told(id, due_at=due) for id, due in times.items()]
    await store.deliveries.plan(QUESTION, [*rows, told("mail", channel="mail")])
    first = await store.deliveries.claim("ops", "lease", lease_seconds=30, limit=2)
    second = await store.deliveries.claim("ops", "other", lease_seconds=30)
    third = await store.deliveries.claim("ops", "other", lease_seconds=30)

    assert {one.id for one in first} == {"a", "b"}
    assert {(one.lease, one.attempts, one.due_at) for one in first} == {("lease", 1, now + 30)}
    assert [one.id for one in second] == ["c"]
    assert third == []


async def test_a_claim_that_is_over_can_be_taken_and_its_owner_says_nothing_any_more(
    store: Store, clock: FakeClock
) -> None:
    await asked(store)
    await store.deliveries.plan(QUESTION, [told("d1")])
    (first,) = await store.deliveries.claim("ops", "one", lease_seconds=30)
    clock.advance(30)
    (second,) = await store.deliveries.claim("ops", "two", lease_seconds=30)
    late = await store.deliveries.finish(first, "dead", error="too late")
    held = await store.deliveries.finish(second, "sent", noted={"ts": "1.2", "é": [None]})
    (stored,) = await store.deliveries.of_question(QUESTION)

    assert (second.attempts, late, held) == (2, False, True)
    assert (stored.state, stored.error, stored.lease) == ("sent", None, None)
    assert stored.noted == {"ts": "1.2", "é": [None]}


async def test_a_delivery_that_failed_is_due_again_later(store: Store, clock: FakeClock) -> None:
    await asked(store)
    await store.deliveries.plan(QUESTION, [told("d1")])
    (first,) = await store.deliveries.claim("ops", "one", lease_seconds=30)
    await store.deliveries.finish(first, "queued", retry_in=5, error="HTTP 500\n: no")
    at_once = await store.deliveries.claim("ops", "one", lease_seconds=30)
    clock.advance(5)
    (second,) = await store.deliveries.claim("ops", "one", lease_seconds=30)

    assert at_once == []
    assert (second.attempts, second.error) == (2, "HTTP 500\n: no")


async def test_deliveries_are_listed_by_scope_and_state(store: Store, clock: FakeClock) -> None:
    await asked(store)
    await store.deliveries.plan(QUESTION, [told("d1")])
    clock.advance(1)
    await store.deliveries.plan(QUESTION, [told("d2", due_at=clock.time() + 9), told("d3")])
    for one in await store.deliveries.claim("ops", "one", lease_seconds=30):
        await store.deliveries.finish(one, "dead" if one.id == "d1" else "sent")
    listed = store.deliveries.list_deliveries

    assert [one.id for one in await listed("scope")] == ["d2", "d3", "d1"]
    assert [one.id for one in await listed("scope", limit=2)] == ["d2", "d3"]
    assert [one.id for one in await listed("scope", state="dead")] == ["d1"]
    assert [one.id for one in await listed("scope", state="queued")] == ["d2"]
    assert await listed("elsewhere") == []


async def test_deliveries_go_with_their_thread(store: Store) -> None:
    record = await asked(store)
    await store.deliveries.plan(QUESTION, [told("d1")])
    await store.delete(KEY, Expected(version=record.version))
    await asked(store)

    assert await store.deliveries.of_question(QUESTION) == []
    assert await store.deliveries.claim("ops", "one", lease_seconds=30) == []
    assert await store.deliveries.list_deliveries("scope") == []
    assert (KEY, "i1") in await store.deliveries.unannounced()


async def test_of_two_who_plan_and_claim_at_once_each_delivery_is_ones(opener: Opener) -> None:
    one, two = await opener(), await opener()
    await asked(one)
    rows = [told(f"d{number}") for number in range(20)]
    planned = await asyncio.gather(
        *(store.deliveries.plan(QUESTION, rows) for store in (one, two) for _ in range(3))
    )
    claims = await asyncio.gather(
        *(
            store.deliveries.claim("ops", f"{name}{number}", lease_seconds=30, limit=3)
            for name, store in (("one", one), ("two", two))
            for number in range(10)
        )
    )
    claimed = [delivery.id for some in claims for delivery in some]

    assert sum(planned) == 20
    assert len(claimed) == len(set(claimed))
    rest = await one.deliveries.claim("ops", "rest", lease_seconds=30, limit=20)
    assert sorted([*claimed, *(delivery.id for delivery in rest)]) == sorted(row.id for row in rows)
