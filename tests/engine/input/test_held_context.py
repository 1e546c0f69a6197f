"""State and context that come with an input whose answers wait reach the agent all the same."""

from __future__ import annotations

from typing import Any, Final

import pytest

from agui_bridge.adapters import Pause, Run
from agui_bridge.errors import NotDelivered
from tests.support.agents import Bench, Scripted, approval, outcome

EMPTY: Final[dict[str, Any]] = {"state": {}, "context": []}
"""What official clients send that have none."""


def brings(name: str) -> dict[str, Any]:
    return {"state": {"from": name}, "context": context(name)}


def context(name: str) -> list[dict[str, Any]]:
    return [{"description": "who", "value": name}]


def seen(run: Run) -> tuple[Any, Any]:
    """What an agent is told."""
    told = [entry.model_dump(by_alias=True) for entry in run.input.context or ()]
    return run.state, told


def runs(bench: Bench) -> list[Run]:
    agent = bench.agent.adapter
    assert isinstance(agent, Scripted)
    return agent.runs


def vote() -> Bench:
    """One approval that two people have to give."""
    return Bench(Scripted([Pause([approval(quorum=2)])], ["Done."]))


def votes_of_three() -> Bench:
    return Bench(Scripted([Pause([approval(quorum=3)])], ["Done."]))


def answer_to_one_of_two() -> Bench:
    """Two approvals, each for one person."""
    asks = [approval("c1", approvers=["bob"]), approval("c2", approvers=["cy"])]
    return Bench(Scripted([Pause(asks)], ["Done."]))


async def give(bench: Bench, asked: list[dict[str, Any]], actor: str, **members: Any) -> str:
    """One person answers what is theirs to answer."""
    asks = (await bench.load(*(entry["id"] for entry in asked))).interrupts
    rules = {entry["id"]: asks[entry["id"]].rule for entry in asked}
    mine = [e for e in asked if (rule := rules[e["id"]]) and rule.within in ((), ((actor,),))]
    return outcome(await bench.say(resume=bench.entries(mine), actor=actor, **members))


CASES: Final = {
    "the last one brings nothing": (brings("bob"), {}, "bob", "bob"),
    "the last one brings what is empty": (brings("bob"), EMPTY, "bob", "bob"),
    "the last one brings its own": (brings("bob"), brings("cy"), "cy", "cy"),
    "each brings one of them": (
        {"state": {"from": "bob"}},
        {"context": context("cy")},
        "bob",
        "cy",
    ),
    "only the context is held": (
        {"context": context("bob")},
        {"state": {"from": "cy"}},
        "cy",
        "bob",
    ),
}


@pytest.mark.parametrize("make", [vote, answer_to_one_of_two])
@pytest.mark.parametrize("case", CASES)
async def test_what_comes_with_an_answer_that_waits_reaches_the_agent(make: Any, case: str) -> None:
    first, last, state, told = CASES[case]
    bench = make()
    asked = await bench.ask()
    assert await give(bench, asked, "bob", **first) == "interrupt"
    assert await give(bench, asked, "cy", **last) == "success"
    assert seen(runs(bench)[1]) == ({"from": state}, context(told))
    record = (await bench.load()).record
    assert record is not None
    assert (record.state, record.held_context) == ({"from": state}, ())


async def test_the_newest_of_those_that_wait_wins() -> None:
    bench = votes_of_three()
    asked = await bench.ask()
    for actor in ("bob", "cy"):
        assert await give(bench, asked, actor, **brings(actor)) == "interrupt"
    assert await give(bench, asked, "dan") == "success"
    assert seen(runs(bench)[1]) == ({"from": "cy"}, context("cy"))


async def test_who_is_told_of_the_vote_is_told_of_the_state() -> None:
    bench = vote()
    asked = await bench.ask()
    events = await bench.say(resume=bench.entries(asked), actor="bob", **brings("bob"))
    (state,) = [event["snapshot"] for event in events if event["type"] == "STATE_SNAPSHOT"]
    assert state == {"from": "bob"}


@pytest.mark.parametrize("changed", [True, False])
async def test_whoever_changes_the_state_with_a_vote_has_asked_for_what_comes_of_it(
    changed: bool,
) -> None:
    bench = Bench(Scripted([Pause([approval(quorum=2)])], [Pause([approval("c2")])]))
    first = await bench.say("go", state={"from": "ann"})
    asked = first[-1]["outcome"]["interrupts"]
    await give(bench, asked, "bob", state={"from": "bob" if changed else "ann"})
    second = await bench.say(resume=bench.entries(asked), actor="cy")
    (question,) = second[-1]["outcome"]["interrupts"]
    stored = (await bench.load(question["id"])).interrupts[question["id"]]
    assert (stored.asked_by, stored.joined_by) == ("ann", ("bob",) if changed else ())


@pytest.mark.parametrize("resumed", [True, False])
async def test_what_came_with_a_run_that_reached_nobody_comes_with_the_next(resumed: bool) -> None:
    scripts: list[list[Any]] = [[NotDelivered("refused")], ["Done."]]
    bench = Bench(Scripted(*([[Pause([approval()])]] if resumed else []), *scripts))
    if resumed:
        asked = await bench.ask()
        for members in (brings("bob"), {}):
            await bench.say(resume=bench.entries(asked), **members)
    else:
        await bench.say("one", **brings("bob"))
        await bench.say("two")
    assert seen(runs(bench)[-1]) == ({"from": "bob"}, context("bob"))


async def test_a_context_ends_with_the_question_that_was_stopped() -> None:
    bench = Bench(Scripted([Pause([approval(quorum=2)])], ["New."]))
    await give(bench, await bench.ask(), "bob", **brings("bob"))
    await bench.engine.stop(bench.KEY)
    assert outcome(await bench.say("another matter")) == "success"
    assert seen(runs(bench)[1]) == ({"from": "bob"}, [])
