"""A judge takes away cards that nobody needs, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from agui_bridge import FunctionRun, KeywordAdapter
from agui_bridge.agents.keyword import adapter as keyword_adapter
from tests.agents.function.effects import Effects
from tests.support.agents import Bench, outcome

Judge = Callable[[str, str], Awaitable[bool]]


async def no(sentence: str, said: str) -> bool:
    return False


async def yes(sentence: str, said: str) -> bool:
    return True


async def broken(sentence: str, said: str) -> bool:
    raise OSError("the model is away")


async def silent(sentence: str, said: str) -> bool:
    await asyncio.Event().wait()
    return False


def speaking(judge: Judge, effects: Effects, *, acts: bool) -> KeywordAdapter:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield "Dear Tom, please confirm the date. Yours, Anna"
        if acts:
            await run.call("delete", {}, effects.act)

    return KeywordAdapter(agent, judge=judge)


@pytest.mark.parametrize(
    ("judge", "acts", "ending"),
    [
        (no, False, "success"),
        (yes, False, "interrupt"),
        (broken, False, "interrupt"),
        (silent, False, "interrupt"),
        (no, True, "interrupt"),
    ],
)
async def test_a_card_is_shown_unless_the_judge_says_no_and_nothing_is_held(
    judge: Judge,
    acts: bool,
    ending: str,
    effects: Effects,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keyword_adapter, "_JUDGING", 0.01)
    async with Bench(speaking(judge, effects, acts=acts)).open() as bench:
        events = await bench.say("go")

    assert (outcome(events), effects.done) == (ending, [])


async def test_a_judge_reads_the_sentence_and_the_turn(effects: Effects) -> None:
    heard: list[tuple[str, str]] = []

    async def judge(sentence: str, said: str) -> bool:
        heard.append((sentence, said))
        return False

    async with Bench(speaking(judge, effects, acts=False)).open() as bench:
        await bench.say("go")

    turn = "Dear Tom, please confirm the date. Yours, Anna"
    assert heard == [("Dear Tom, please confirm the date.", turn)]
