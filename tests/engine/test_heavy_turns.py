"""Heavy work takes turns, and everything else comes between two of them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agui_bridge.engine.fairness import HeavyTurns
from tests.support.agents import eventually


class Rounds:
    """Counts the loop's rounds, and lets its time pass without waiting: some seconds a round.

    Attributes:
        count: rounds so far.
        at: in which round each stretch was, and whose.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        self._seconds = seconds
        self.count = 0
        self.at: list[tuple[str, int]] = []
        self._ahead = 0.0
        self._loop = asyncio.get_running_loop()
        began = self._loop.time()
        monkeypatch.setattr(self._loop, "time", lambda: began + self._ahead)
        self._next = self._loop.call_soon(self._round)

    def _round(self) -> None:
        self.count += 1
        self._ahead += self._seconds
        self._next = self._loop.call_soon(self._round)

    def stretch(self, scope: str, seconds: float = 0.2) -> None:
        """Be busy."""
        self.at.append((scope, self.count))
        self._ahead += seconds

    def stop(self) -> None:
        """Count no more."""
        self._next.cancel()


@asynccontextmanager
async def counting(
    monkeypatch: pytest.MonkeyPatch, seconds: float = 0.001
) -> AsyncIterator[Rounds]:
    rounds = Rounds(monkeypatch, seconds)
    try:
        yield rounds
    finally:
        rounds.stop()


@pytest.mark.parametrize("seconds", [0.001, 1.0], ids=["quick rounds", "starved loop"])
async def test_a_request_is_answered_between_two_long_stretches(
    monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    async with counting(monkeypatch, seconds) as rounds:
        turns = HeavyTurns()

        async def work() -> None:
            for _ in range(3):
                async with turns.turn("hostile", heavy=True):
                    rounds.stretch("hostile")

        await asyncio.gather(*(work() for _ in range(8)))

    assert len(rounds.at) == 24
    gaps = [
        after - before for (_, before), (_, after) in zip(rounds.at, rounds.at[1:], strict=False)
    ]
    # A connection, its bytes, its task and its answer each take a round.
    assert min(gaps) >= 8


async def test_scopes_have_their_turns_one_after_the_other_however_many_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with counting(monkeypatch) as rounds:
        turns = HeavyTurns()

        async def work(scope: str) -> None:
            async with turns.turn(scope, heavy=True):
                rounds.stretch(scope)

        hostile = [work("hostile") for _ in range(6)]
        await asyncio.gather(*hostile, work("quiet"), work("other"), work("quiet"))

    order = [scope for scope, _ in rounds.at]
    assert order[:6] == ["hostile", "hostile", "quiet", "other", "hostile", "quiet"]
    assert order[6:] == ["hostile"] * 3


async def test_what_is_not_heavy_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with counting(monkeypatch) as rounds:
        turns = HeavyTurns()
        async with turns.turn("hostile", heavy=True):
            rounds.stretch("hostile")
        waiting = asyncio.ensure_future(_turn(turns, "hostile"))
        await asyncio.sleep(0)
        before = rounds.count

        async with turns.turn("quiet", heavy=False):
            pass

        assert rounds.count == before and not waiting.done()
        await waiting


async def test_short_stretches_and_the_first_long_one_pass_without_a_hop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with counting(monkeypatch) as rounds:
        turns = HeavyTurns()
        for _ in range(5):
            async with turns.turn("quiet", heavy=True):
                rounds.stretch("quiet", 0.001)
        async with turns.turn("quiet", heavy=True):
            rounds.stretch("quiet")

        assert rounds.count == 0


async def test_a_stretch_that_awaits_keeps_its_turn_to_its_end() -> None:
    turns, done = HeavyTurns(), asyncio.Event()

    async def hold() -> None:
        async with turns.turn("a", heavy=True):
            await done.wait()

    holding = asyncio.ensure_future(hold())
    await asyncio.sleep(0)
    waiting = asyncio.ensure_future(_turn(turns, "b"))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not waiting.done()
    done.set()
    await asyncio.gather(holding, waiting)


@pytest.mark.parametrize("rounds_later", range(12))
async def test_who_gives_up_waiting_holds_nobody_up(rounds_later: int) -> None:
    """Whether its turn has been given to it meanwhile or not."""
    turns, done = HeavyTurns(), asyncio.Event()

    async def hold() -> None:
        async with turns.turn("a", heavy=True):
            await done.wait()

    holding = asyncio.ensure_future(hold())
    await asyncio.sleep(0)
    gone, staying = (asyncio.ensure_future(_turn(turns, scope)) for scope in ("b", "c"))
    await asyncio.sleep(0)
    done.set()
    for _ in range(rounds_later):
        await asyncio.sleep(0)
    gone.cancel()
    await asyncio.gather(holding, staying)
    await eventually(gone.done)
    async with turns.turn("d", heavy=True):
        pass


async def test_what_fails_gives_its_turn_back() -> None:
    turns = HeavyTurns()
    with pytest.raises(ValueError, match="no JSON"):
        async with turns.turn("a", heavy=True):
            raise ValueError("no JSON")
    await _turn(turns, "b")


async def _turn(turns: HeavyTurns, scope: str) -> None:
    async with turns.turn(scope, heavy=True):
        pass
