"""Who is told, when, and how often, on a store's own clock."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from agui_bridge.channels.channel import Channel, ScopedChannels, Undelivered
from agui_bridge.channels.dispatcher import Dispatcher
from agui_bridge.channels.notice import Notice
from agui_bridge.channels.postman import SCHEDULE, retry_in
from agui_bridge.engine.telemetry import NO_TELEMETRY, Telemetry
from agui_bridge.protocol.answers.asks import LONGEST_WAIT
from agui_bridge.protocol.approvals import why_not
from agui_bridge.protocol.threads.approval_rule import ApprovalRule, Escalation
from agui_bridge.protocol.threads.records import (
    AuditEntry,
    Interrupt,
    InterruptStatus,
    Json,
    Principal,
    ThreadKey,
)
from agui_bridge.protocol.wire.run_events import iso_time
from agui_bridge.stores.base import Expected, Store
from agui_bridge.stores.sqlite.store import SqliteStore
from tests.channels.bridges import INBOX
from tests.otel.backend import Backend
from tests.stores.samples import KEY, ask, idle, interrupted, put
from tests.support.clock import FakeClock
from tests.support.waiting import eventually


@dataclass
class Told(Channel):
    """Notes what it is told; fails first, where it shall."""

    events: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    faults: list[Exception] = field(default_factory=list)
    tells_end: ClassVar[bool] = True

    async def send(self, notice: Notice) -> Mapping[str, Json] | None:
        if self.faults:
            raise self.faults.pop(0)
        self.events.append(notice.event)
        self.ids.append(notice.id)
        return {"n": len(self.events)}


def dispatcher(
    store: Store, clock: FakeClock, telemetry: Telemetry = NO_TELEMETRY, **channels: Channel
) -> Dispatcher:
    numbers = iter(range(10**6))
    return Dispatcher(
        store,
        ScopedChannels(channels, {"scope"}),
        INBOX,
        telemetry=telemetry,
        clock=clock,
        interval=5.0,
        mint=lambda: f"m{next(numbers)}",
        chance=lambda: 0.0,
    )


async def asked(store: Store, clock: FakeClock, **fields: Any) -> Interrupt:
    audit = (AuditEntry(InterruptStatus.OPEN, clock.time(), "agent"),)
    question = ask("i1", audit=audit, **fields)
    await put(store, interrupted(), interrupts=(question,))
    return question


async def close(store: Store, status: InterruptStatus = InterruptStatus.RESOLVED) -> None:
    loaded = await store.load(KEY, ["i1"])
    assert loaded.record is not None
    done = replace(
        loaded.interrupts["i1"],
        status=status,
        audit=(*loaded.interrupts["i1"].audit, AuditEntry(status, loaded.now, "bob", "api")),
    )
    await put(store, idle(), Expected(version=loaded.record.version), interrupts=(done,))


def told(**fields: object) -> Told:
    return Told(per_second=1e9, **fields)  # type: ignore[arg-type]  # as given


async def test_a_question_and_its_end_are_told_once_on_every_store(
    store: Store,
    clock: FakeClock,
) -> None:
    ops, aside = told(), told(by_default=False)
    office = dispatcher(store, clock, ops=ops, aside=aside)
    await asked(store, clock)
    for _ in range(3):
        await office.sweep()
    await close(store)
    for _ in range(3):
        await office.sweep()

    assert ops.events == ["opened", "answered"]
    assert ops.ids == ["i1:ops:opened", "i1:ops:ended"]
    assert aside.events == []


async def test_two_processes_tell_each_thing_once(
    opener: object,
    clock: FakeClock,
) -> None:
    one, two = await opener(), await opener()  # type: ignore[operator]  # a fixture's function
    channel = told()
    offices = [dispatcher(each, clock, ops=channel) for each in (one, two)]
    for number in range(10):
        question = ask("i1", audit=(AuditEntry(InterruptStatus.OPEN, clock.time(), "agent"),))
        key = ThreadKey("scope", "agent", f"t{number}")
        await put(one, interrupted(key), interrupts=(question,))
    await asyncio.gather(*(office.sweep() for office in offices))

    assert channel.events == ["opened"] * 10


@pytest.fixture
async def file(tmp_path: Path, clock: FakeClock) -> SqliteStore:
    return await SqliteStore.open(f"sqlite:///{tmp_path / 'store.db'}", clock=clock.time)


async def test_a_closed_question_is_never_announced(
    file: SqliteStore,
    clock: FakeClock,
) -> None:
    ops = told()
    office = dispatcher(file, clock, ops=ops)
    await asked(file, clock)
    await office.plan()
    await close(file)
    await office.sweep()
    clock.advance(1)
    await office.sweep()

    assert ops.events == []
    states = {one.id: one.state for one in await file.deliveries.of_question((KEY, "i1"))}
    assert states == {"i1:ops:opened": "dropped", "i1:ops:ended": "dropped"}


async def test_a_question_whose_time_is_over_is_told_as_expired(
    file: SqliteStore,
    clock: FakeClock,
) -> None:
    ops = told()
    office = dispatcher(file, clock, ops=ops)
    await asked(file, clock, expires_at=clock.time() + 10)
    await office.sweep()
    clock.advance(10)
    await office.sweep()

    assert ops.events == ["opened", "expired"]


async def test_a_rule_says_who_is_told_and_reminded_until_it_is_answered(
    file: SqliteStore,
    clock: FakeClock,
) -> None:
    ops, mail = told(), told(by_default=False)
    office = dispatcher(file, clock, ops=ops, mail=mail)
    await asked(file, clock, rule=ApprovalRule(notify=("mail", "unknown"), remind=(60, 120, 180)))
    await office.sweep()
    clock.advance(60)
    await office.sweep()
    clock.advance(60)
    await office.sweep()
    await close(file)
    clock.advance(60)
    await office.sweep()
    # It had to wait for the last reminder, which was being looked at.
    clock.advance(1)
    await office.sweep()

    assert mail.events == ["opened", "reminded", "reminded", "answered"]
    assert ops.events == []


async def test_an_escalation_adds_approvers_and_time_once_and_tells_others(
    file: SqliteStore,
    clock: FakeClock,
) -> None:
    ops, boss = told(), told(by_default=False)
    office = dispatcher(file, clock, ops=ops, boss=boss)
    steps = (Escalation(60, ("role:boss",), ("boss",), 100), Escalation(90, ("ceo",)))
    rule = ApprovalRule(name="dba", approvers=("ann",), escalate=steps)
    await asked(file, clock, rule=rule, expires_at=clock.time() + 100)
    ceo, one_boss = Principal("scope", "ceo"), Principal("scope", "x", frozenset({"boss"}))
    await office.sweep()
    before = (await file.load(KEY, ["i1"])).interrupts["i1"]
    clock.advance(60)
    await office.sweep()
    await office.sweep()
    first = (await file.load(KEY, ["i1"])).interrupts["i1"]
    clock.advance(30)
    await office.sweep()
    second = (await file.load(KEY, ["i1"])).interrupts["i1"]

    assert why_not(before, one_boss) is not None
    assert why_not(first, one_boss) is None
    assert why_not(first, ceo) is not None
    assert why_not(second, ceo) is None
    assert before.expires_at is not None
    assert first.expires_at == second.expires_at == before.expires_at + 100
    assert [entry.event for entry in second.audit] == [None, "escalated", "escalated"]
    assert second.status is InterruptStatus.OPEN
    assert (ops.events, boss.events) == (["opened"], ["escalated"])


async def test_an_expiry_moves_to_a_time_that_calendars_have(
    file: SqliteStore,
    clock: FakeClock,
) -> None:
    steps = (Escalation(60, extend=1e15), Escalation(90, extend=1e15))
    rule = ApprovalRule(approvers=("ann",), escalate=steps)
    await asked(file, clock, rule=rule, expires_at=clock.time() + 100)
    clock.advance(90)
    await dispatcher(file, clock, ops=told()).sweep()
    moved = (await file.load(KEY, ["i1"])).interrupts["i1"]

    assert moved.expires_at == clock.time() + LONGEST_WAIT
    assert iso_time(moved.expires_at).startswith("2")


async def test_what_fails_is_tried_by_the_schedule_and_dead_after_it(
    file: SqliteStore,
    clock: FakeClock,
) -> None:
    ops = told(faults=[Undelivered(f"HTTP 500 ({number})") for number in range(10)])
    office = dispatcher(file, clock, ops=ops)
    await asked(file, clock)
    await office.sweep()
    for pause in SCHEDULE:
        clock.advance(pause - 0.5)
        await office.sweep()
        left = len(ops.faults)
        clock.advance(0.5)
        await office.sweep()
        assert len(ops.faults) == left - 1
    (dead,) = await file.deliveries.list_deliveries("scope", state="dead")

    assert (ops.events, dead.attempts, dead.error) == ([], 10, "HTTP 500 (9)")
    assert sum(SCHEDULE) == pytest.approx(75.6 * 3600, rel=0.01)


async def test_each_try_is_counted_by_channel_event_and_what_came_of_it(
    file: SqliteStore,
    clock: FakeClock,
) -> None:
    backend = Backend()
    ops = told(faults=[Undelivered("HTTP 500")])
    gone = told(faults=[Undelivered("HTTP 410", gone=True)])
    office = dispatcher(file, clock, backend.telemetry, ops=ops, gone=gone)
    await asked(file, clock, rule=ApprovalRule(notify=("ops", "gone"), remind=(600,)))
    await office.sweep()
    clock.advance(SCHEDULE[0])
    await office.sweep()
    await close(file)
    clock.advance(600)
    await office.sweep()
    clock.advance(1)
    await office.sweep()

    counted = backend.points(
        "agui.deliveries", "agui.channel", "agui.channel.event", "agui.delivery.outcome"
    )
    assert counted == {
        ("ops", "opened", "retried"): 1,
        ("ops", "opened", "sent"): 1,
        ("ops", "reminded", "dropped"): 1,
        ("ops", "answered", "sent"): 1,
        ("gone", "opened", "dead"): 1,
        ("gone", "reminded", "dropped"): 1,
        ("gone", "answered", "dead"): 1,
    }


async def test_a_retry_after_rests_the_whole_channel(
    file: SqliteStore,
    clock: FakeClock,
) -> None:
    ops = told(faults=[Undelivered("HTTP 429", retry_after=60)])
    office = dispatcher(file, clock, ops=ops)
    await asked(file, clock)
    await office.sweep()
    await put(file, interrupted(ThreadKey("scope", "agent", "2")), interrupts=(ask("i2"),))
    clock.advance(59)
    await office.sweep()
    before = list(ops.events)
    clock.advance(1)
    await office.sweep()

    assert (before, ops.events) == ([], ["opened", "opened"])


async def test_an_address_that_is_gone_gets_nothing_more(
    file: SqliteStore,
    clock: FakeClock,
) -> None:
    ops = told(faults=[Undelivered("HTTP 410", gone=True)])
    office = dispatcher(file, clock, ops=ops)
    await asked(file, clock)
    await office.sweep()
    await put(file, interrupted(ThreadKey("scope", "agent", "2")), interrupts=(ask("i2"),))
    await office.sweep()

    assert ops.events == []
    assert len(await file.deliveries.list_deliveries("scope", state="dead")) == 2


async def test_an_end_waits_for_an_opening_that_is_under_way(
    file: SqliteStore,
    clock: FakeClock,
) -> None:
    ops = told()
    office = dispatcher(file, clock, ops=ops)
    await asked(file, clock)
    await office.plan()
    (under_way,) = await file.deliveries.claim("ops", "elsewhere", lease_seconds=90)
    await close(file)
    await office.sweep()
    before = list(ops.events)
    await file.deliveries.finish(under_way, "sent", noted={"ts": "1"})
    clock.advance(1)
    await office.sweep()
    ended = (await file.deliveries.of_question((KEY, "i1")))[-1]

    assert (before, ops.events, ended.attempts) == ([], ["answered"], 1)


async def test_no_more_is_sent_in_a_second_than_the_channel_takes(
    file: SqliteStore,
    clock: FakeClock,
) -> None:
    ops = Told(per_second=1)
    office = dispatcher(file, clock, ops=ops)
    for number in range(3):
        key = ThreadKey("scope", "agent", f"t{number}")
        await put(file, interrupted(key), interrupts=(ask("i1"),))
    sweeping = asyncio.ensure_future(office.sweep())
    counts: list[int] = []
    for _ in range(3):
        await eventually(lambda: clock.sleepers or sweeping.done())
        await eventually(lambda: len(ops.events) > len(counts))
        counts.append(len(ops.events))
        clock.advance(1)
    await sweeping

    assert counts == [1, 2, 3]


def test_retries_are_spread_and_heed_what_was_asked() -> None:
    assert retry_in(1, 0.0) == 5
    assert retry_in(1, 1.0) == pytest.approx(5.5)
    assert retry_in(1, 0.0, retry_after=60) == 60
    assert retry_in(1, 0.0, retry_after=1e9) == SCHEDULE[-1]
    assert retry_in(10, 0.0) is None
