"""Announcements by interest: nobody waits longer than the poll and one step in any schedule."""

from __future__ import annotations

import os
import random

import pytest

from agui_bridge.protocol.threads.records import lease_token
from agui_bridge.stores.announcements import Heard, Interests, Told
from tests.model.hints import POLL, STEP, Rules, World

MANY = int(os.environ.get("AGUI_BRIDGE_MODEL_EXAMPLES", "2000"))


class AnswersNobody(Interests):
    """Who is told of a run that it does not run keeps silent."""

    def hear(self, word: str, now: float) -> Heard:
        heard = super().hear(word, now)
        return Heard(watched=heard.watched, stop=heard.stop)


class TellsOnce(Interests):
    """Whoever waits says so when it begins to, and never again."""

    def look(self, thread: str, token: str | None, now: float) -> Told | None:
        known = self._told.get(next(iter(self._told), ""))
        return super().look(thread, token, now) if known is None else None


class Stays(Interests):
    """An interest does not end."""

    def over(self, token: str, now: float) -> list[Told]:
        return super().over(token, -1e9)


class HearsNobody(Interests):
    """Nothing that is announced brings a look forward."""

    def hear(self, word: str, now: float) -> Heard:
        return Heard()


def longest(rules: Rules, schedules: int) -> float:
    """The longest of all waits; for ever, where one does not end."""
    waits = [0.0]
    for seed in range(schedules):
        world = World(seed, rules)
        for _ in range(random.Random(seed).choice((20, 60, 150))):
            world.pass_by(world.random.choice((0.0, 0.01, 0.05, STEP)))
            world.act()
        world.settle()
        waits += world.waits
        if any(waiting.token in world.ended for waiting in world.waiting):
            return float("inf")
    return max(waits)


@pytest.mark.parametrize(
    "schedules",
    [pytest.param(400, id="few"), pytest.param(MANY, id="many", marks=pytest.mark.soak)],
)
def test_nobody_waits_longer_than_the_poll_and_one_step(schedules: int) -> None:
    assert longest(Rules(), schedules) <= POLL + STEP


def test_who_does_not_poll_waits_for_ever() -> None:
    assert longest(Rules(polls=False), 400) > POLL + STEP


def fast(rules: Rules, seed: int, old: tuple[bool, bool]) -> float:
    """How long after the end a watcher sees it, where nothing is lost."""
    world = World(seed, rules, loss=0.0, old=0.0, many=2)
    for process, is_old in zip(world.processes, old, strict=True):
        process.interests = None if is_old else process.interests
    world.claim(world.processes[0])
    world.wait(world.processes[1])
    for _ in range(seed):
        world.pass_by(0.1)
    world.pass_by(0.05)
    world.end()
    world.pass_by(0.0)
    for _ in range(40):
        if world.waits:
            break
        world.pass_by(0.05)
    return world.waits[0]


NEW = (False, False)
OLD_RUNS = (True, False)
OLD_WAITS = (False, True)


@pytest.mark.parametrize("old", [NEW, OLD_RUNS, OLD_WAITS])
def test_where_nothing_is_lost_an_end_is_seen_at_once(old: tuple[bool, bool]) -> None:
    assert max(fast(Rules(), seed, old) for seed in range(60)) == 0.0


@pytest.mark.parametrize(
    ("rules", "old"),
    [
        pytest.param(Rules(HearsNobody), NEW, id="hears nobody"),
        pytest.param(Rules(TellsOnce), NEW, id="tells it once"),
        pytest.param(Rules(hears_all=False), OLD_RUNS, id="does not hear what all hear"),
        pytest.param(Rules(speaks_to_all=False), OLD_WAITS, id="does not speak to all"),
    ],
)
def test_a_rule_that_is_left_out_is_noticed(rules: Rules, old: tuple[bool, bool]) -> None:
    assert max(fast(rules, seed, old) for seed in range(60)) > 0.5


def race(rules: Rules) -> float:
    """How long a watcher waits whose word arrives after the end that it was for."""
    world = World(0, rules, loss=0.0, old=0.0, many=2)
    world.claim(world.processes[0])
    world.wait(world.processes[1])
    # The word is on its way, and the run ends.
    world.end()
    for _ in range(40):
        world.pass_by(0.05)
        if world.waits:
            break
    return world.waits[0]


def test_an_end_while_the_word_is_on_its_way_is_answered() -> None:
    assert race(Rules()) < 0.2
    assert race(Rules(AnswersNobody)) > 0.5


def test_where_nobody_waits_nothing_is_said() -> None:
    world = World(1, loss=0.0, old=0.0)
    for process in world.processes * 3:
        world.claim(process)
        world.pass_by(STEP)
        world.end()
    assert world.sent == []


def test_whoever_waits_no_more_is_forgotten() -> None:
    def said(rules: Rules) -> int:
        world = World(1, rules, loss=0.0, old=0.0, many=2)
        world.claim(world.processes[0])
        world.wait(world.processes[1])
        world.waiting.clear()
        for _ in range(40):
            world.pass_by(0.1)
        world.end()
        return len(world.sent)

    assert (said(Rules()), said(Rules(Stays))) == (1, 2)


def test_a_word_that_is_none_and_a_run_that_nobody_waits_for_are_passed_over() -> None:
    here = Interests("0" * 16)
    token = lease_token("1" * 16, "run")
    for word in ("", "e:", "i:x:y", "e:" + "0" * 16, "i:" + "0" * 16, "stop", "é" * 40):
        assert here.hear(word, 0.0) == Heard()
    told = here.look("t", token, 0.0)
    assert told is not None
    run = told.word.split(":")[1]
    assert here.hear(f"e:{run}", 0.1) == Heard(watched="t")


def test_a_process_remembers_no_run_for_ever_whose_end_it_did_not_see() -> None:
    here = Interests("0" * 16)
    for number in range(1000):
        here.runs(f"run{number}", number + 30.0, float(number))
    assert len(here._running) <= 31
    for number in range(1000):
        here.look("t", lease_token("1" * 16, f"run{number}"), float(number))
    assert len(here._told) <= 4
    assert len(here._owners) == 1
