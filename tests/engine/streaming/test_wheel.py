"""The wheel: each is looked at when it asked for it, and nobody else is touched."""

import asyncio
import contextvars

import pytest

from agui_bridge.engine.streaming.clock import Turned, Wheel, Wheels
from tests.support.agents import pass_time
from tests.support.clock import FakeClock

INTERVAL = 0.75


class Member:
    """Notes when it is looked at, and asks for the next look in `seconds`."""

    place: set[Turned]

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.looks: list[float] = []

    def look(self, now: float) -> float:
        self.looks.append(now)
        return self.seconds


class Broken(Member):
    def look(self, now: float) -> float:
        super().look(now)
        raise RuntimeError("broken")


def wheel_of(clock: FakeClock) -> Wheel:
    return Wheels(clock).of(INTERVAL)


async def test_a_member_is_looked_at_when_it_asked_or_up_to_a_turn_later() -> None:
    clock = FakeClock()
    wheel = wheel_of(clock)
    members = [Member(15.0), Member(14.25), Member(10.1)]
    for member in members:
        wheel.add(member, member.seconds)
        clock.advance(0.3)
    begun = [0.0, 0.3, 0.6]
    await pass_time(clock, 65)
    for member, at in zip(members, begun, strict=True):
        assert len(member.looks) == 65 // (member.seconds + INTERVAL / 2)
        for before, look in zip([at, *member.looks], member.looks, strict=False):
            assert member.seconds <= look - before < member.seconds + INTERVAL + 0.2


async def test_who_was_discarded_is_looked_at_no_more() -> None:
    clock = FakeClock()
    wheel = wheel_of(clock)
    gone, stays = Member(3.0), Member(3.0)
    for member in (gone, stays):
        wheel.add(member, member.seconds)
    await pass_time(clock, 4)
    wheel.discard(gone)
    await pass_time(clock, 10)
    assert len(gone.looks) == 1
    assert len(stays.looks) >= 3


async def test_a_wheel_without_members_has_no_timer() -> None:
    clock = FakeClock()
    wheel = wheel_of(clock)
    member = Member(3.0)
    wheel.add(member, 3.0)
    assert clock.sleepers == 1
    wheel.discard(member)
    assert clock.sleepers == 0
    wheel.add(member, 3.0)
    await pass_time(clock, 4)
    assert len(member.looks) == 1


async def test_turns_that_were_missed_are_made_up_for_at_once() -> None:
    clock = FakeClock()
    wheel = wheel_of(clock)
    members = [Member(seconds) for seconds in (1.0, 5.0, 20.0)]
    for member in members:
        wheel.add(member, member.seconds)
    # The process stands still (SIGSTOP): its clock goes on.
    clock.advance(60)
    await pass_time(clock, 0.1)
    assert [len(member.looks) for member in members] == [1, 1, 1]


async def test_a_look_that_fails_keeps_no_other_from_being_looked_at(
    unraisable: list[BaseException],
) -> None:
    clock = FakeClock()
    wheel = wheel_of(clock)
    members, broken = [Member(3.0) for _ in range(5)], Broken(3.0)
    wheel.add(broken, 3.0)
    for member in members:
        wheel.add(member, 3.0)
    await pass_time(clock, 5)
    assert [len(member.looks) for member in members] == [1] * 5
    # The one that fails is looked at again with each turn.
    assert len(broken.looks) > 1
    assert {str(error) for error in unraisable} == {"broken"}


async def test_the_timer_is_of_no_member_s_context() -> None:
    owner: contextvars.ContextVar[str] = contextvars.ContextVar("owner", default="nobody")
    seen: list[str] = []

    class Asking(Member):
        def look(self, now: float) -> float:
            seen.append(owner.get())
            return super().look(now)

    clock = FakeClock()
    wheel = wheel_of(clock)
    token = owner.set("the first one")
    wheel.add(Asking(1.0), 1.0)
    owner.reset(token)
    await pass_time(clock, 4)
    assert seen and set(seen) == {"nobody"}


@pytest.fixture
async def unraisable() -> list[BaseException]:
    """What callbacks of the loop have raised."""
    raised: list[BaseException] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: raised.append(context["exception"]))
    return raised
