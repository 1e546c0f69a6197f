"""A run that sleeps, in the inbox: what it is, and the two buttons that it has."""

from __future__ import annotations

import pytest

from agui_bridge.adapters import Ask
from agui_bridge.channels.planning import channels_of, opening
from agui_bridge.protocol.threads.approval_rule import ApprovalRule, Escalation
from agui_bridge.protocol.threads.record_parts import TIMER, WAKE_SCHEMA
from agui_bridge.protocol.threads.records import InterruptStatus, ThreadKey
from tests.http.inbox.conftest import Serving
from tests.support.waiting import eventually

RULE = ApprovalRule("r", notify=("pager",), remind=(60.0,), escalate=(Escalation(60.0),))


def timer(seconds: float = 86400.0) -> Ask:
    return Ask(
        "t", TIMER, "Until tomorrow.", response_schema=WAKE_SCHEMA, expires_in=seconds
    )  # fmt: skip


async def test_what_sleeps_is_shown_as_that_and_woken(serving: Serving) -> None:
    async with serving(timer()) as site, site.person() as ann:
        [path] = await site.ask()
        listed = await ann.look()
        page = await ann.look(path)
        done = await ann.press(page, "Wake it now")
        after = await ann.look(path)
        [row] = await site.rows()

    assert "A run sleeps Until tomorrow." in listed.text
    assert "Wakes" in page.text and "Expires" not in page.text and "Asleep" in page.text
    words = [b.words for b in page.forms[-1].buttons if b.words]
    assert words == ["Wake it now", "Cancel its sleep"]
    assert done.title == "Woken early: Until tomorrow."
    assert "Woken early by ann through the inbox" in after.text
    assert (row.status, row.answer and row.answer.payload) == (InterruptStatus.RESOLVED, {})


async def test_a_sleep_is_cancelled(serving: Serving) -> None:
    async with serving(timer()) as site, site.person() as ann:
        [path] = await site.ask()
        await ann.press(await ann.look(path), "Cancel its sleep")
        [row] = await site.rows()

    assert row.status is InterruptStatus.CANCELLED


async def test_it_waits_for_nobody(serving: Serving) -> None:
    async with serving(timer()) as site, site.person() as ann:
        await site.ask()
        mine = await ann.look("/inbox?mine=1")

    assert "A run sleeps" not in mine.text


@pytest.mark.timeout(120)
async def test_when_its_time_has_come_the_inbox_says_so(serving: Serving) -> None:
    async with serving(timer(0.1)) as site, site.person() as ann:
        await site.ask()

        async def is_over() -> bool:
            return (await site.rows())[0].status is InterruptStatus.EXPIRED

        await eventually(is_over)
        [row] = await site.rows()
        decided = await ann.look("/inbox/decided")
        told = await ann.look(f"/inbox/{site.reference('agent', 't', row.id)}")

    assert "A run sleeps Its time came Until tomorrow." in decided.text
    assert "Its time came The run has gone on by itself." in told.text
    assert "Went to sleep by agent" in told.text and "through its timer" in told.text


async def test_channels_tell_nobody_of_it_and_escalate_nothing(serving: Serving) -> None:
    async with serving(timer(), rule=RULE) as site:
        await site.ask()
        [row] = await site.rows()

    assert row.rule is not None and row.rule.escalate
    assert channels_of(row, {}) == ()
    assert opening(ThreadKey("team", "agent", "t"), row, {}) == []
