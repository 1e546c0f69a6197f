"""Models that give ids to their calls anew in each reply: every call is its own all the same.

In all frameworks that run in this process, by their own approvals and by the bridge's policy.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agui_bridge import Bridge, ProposedCall, Verdict
from agui_bridge.testing import Talk, talk
from agui_bridge.testing.conversation import Stream
from tests.adapters.cashiers import CASHIERS, PAINT, Cashier, Heard, by_place, by_tool

pytestmark = pytest.mark.timeout(120)

YES = {"approved": True}
NO = {"approved": False}


@dataclass(frozen=True)
class Told:
    """A call of a thread, and what came of it."""

    id: str
    tool: str
    to: str
    result: str


def cashiers(
    can: Callable[[type[Cashier], bool], object] = lambda kind, gated: True,
) -> pytest.MarkDecorator:
    """A case for each framework, and for each way to ask, that can do something."""
    cases = [
        # Both ways to use ids again, without a case for each of both.
        pytest.param(kind, by_place if gated else by_tool, gated, id=f"{name}-{how}")
        for name, kind in CASHIERS.items()
        for how, gated in (("gated", True), ("policy", False))
        if can(kind, gated)
    ]
    return pytest.mark.parametrize(("kind", "naming", "gated"), cases)


@pytest.fixture
def cashier(kind: type[Cashier], naming: Any, gated: bool) -> Cashier:
    return kind(naming, gated)


def bridge_of(cashier: Cashier) -> Bridge:
    """A bridge with the agent, made anew: as after a restart."""
    bridge = Bridge("memory:")
    if not cashier.gated:

        @bridge.policy
        async def asks(call: ProposedCall) -> Verdict:
            must_ask = call.name == "pay" and not call.approved
            return Verdict("ask", editable=True) if must_ask else Verdict("allow")

    bridge.add("cashier", cashier.adapter())
    return bridge


@asynccontextmanager
async def talking(cashier: Cashier, store: str = "memory:") -> AsyncIterator[Talk]:
    async with talk(bridge_of(cashier), "cashier", store=store) as one:
        yield one


async def decided(one: Talk, asked: Stream, decisions: Mapping[str, Any] | None = None) -> Stream:
    """Answer one question after the other, until nothing is asked any more.

    Args:
        one: the conversation.
        asked: what came of the last message.
        decisions: by the payee of each call that is asked about.
    """
    left = dict(decisions or {})
    while asked.ending == "interrupt":
        payees = {call.id: call.to for call in await calls_in(one)}
        now = [left.pop(payees[ask["toolCallId"]]) for ask in asked.asks]
        asked = await one.answer(asked, *map(_fit, asked.asks, now))
    assert (asked.ending, left) == ("success", {})
    return asked


def _fit(ask: Any, payload: Any) -> Any:
    """The answer to a tool that asks by itself: yes or no."""
    return payload if ask["reason"] == "tool_call" else payload["approved"]


async def calls_in(one: Talk) -> list[Told]:
    """The thread's calls in their order; none has the id of another, or two results."""
    messages = await one.messages()
    results: dict[str, str] = {}
    for message in messages:
        if message["role"] == "tool":
            assert message["toolCallId"] not in results
            results[message["toolCallId"]] = message["content"]
    calls = [
        Told(call["id"], call["function"]["name"], _to(call), results.get(call["id"], ""))
        for message in messages
        for call in message.get("toolCalls") or ()
    ]
    assert len({call.id for call in calls}) == len(calls)
    assert {call.id for call in calls} >= results.keys()
    return calls


def _to(call: Any) -> str:
    args = json.loads(call["function"]["arguments"])
    return str(args.get("to", args.get("input")))


def heard_of(request: Sequence[Heard]) -> Iterator[tuple[str, str]]:
    """What a model was told of its calls: of each whom it is for, and the result behind it."""
    waiting: list[Heard] = []
    for one in request:
        if one.by == "call":
            waiting.append(one)
        elif one.by == "tool":
            found = next(call for call in waiting if call.id == one.id)
            waiting.remove(found)
            yield found.text, one.text
        else:
            assert waiting == [], "a call has no result, or another one's"


@cashiers()
async def test_every_call_runs_once_and_has_its_own_result(cashier: Cashier) -> None:
    async with talking(cashier) as one:
        await decided(one, await one.say("pay ann"), {"ann": YES})
        await decided(one, await one.say("look bob"))
        await decided(one, await one.say("look cid"))
        await decided(one, await one.say("pay dan"), {"dan": YES})
        await decided(one, await one.say("paytwice eve"), {"eve": YES, "eve-1": YES})
        await decided(one, await one.say("looktwice fay"))
        await decided(one, await one.say("paypay gil"), {"gil": YES, "gil-1": YES})
        await decided(one, await one.say("hello"))
        calls = await calls_in(one)
    paid = ["ann", "dan", "eve", "eve-1", "gil", "gil-1"]
    seen = ["bob", "cid", "fay", "fay-1"]
    acts = [*(f"pay {to}" for to in paid), *(f"look {to}" for to in seen)]
    assert sorted(cashier.done) == sorted(acts)
    said = {call.to: call.result for call in calls}
    assert said == {to: f"paid {to}" for to in paid} | {to: f"saw {to}" for to in seen}
    assert dict(heard_of(cashier.requests[-1])) == said


@cashiers()
async def test_each_decision_counts_for_the_call_that_was_shown(cashier: Cashier) -> None:
    async with talking(cashier) as one:
        await decided(one, await one.say("pay ann"), {"ann": YES})
        await decided(one, await one.say("pay bob"), {"bob": {**NO, "reason": "too much"}})
        await one.say("pay cid")
        await one.stop()
        asked = await one.say("pay dan")
        assert (await one.cancel(asked)).ending == "success"
        await decided(one, await one.say("paypay eve"), {"eve": NO, "eve-1": YES})
        await decided(one, await one.say("hello"))
        said = {call.to: call.result for call in await calls_in(one)}
    assert cashier.done == ["pay ann", "pay eve-1"]
    assert {to for to, result in said.items() if result == f"paid {to}"} == {"ann", "eve-1"}
    assert said.keys() == {"ann", "bob", "cid", "dan", "eve", "eve-1"}
    told = dict(heard_of(cashier.requests[-1]))
    assert "too much" in told["bob"] or not cashier.explains
    assert {to for to, result in told.items() if result == f"paid {to}"} == {"ann", "eve-1"}


@cashiers(lambda kind, gated: gated in kind.edits)
async def test_edited_arguments_are_those_of_the_call_that_was_shown(cashier: Cashier) -> None:
    edit = {**YES, "editedArgs": {"to": "zoe"}}
    async with talking(cashier) as one:
        await decided(one, await one.say("pay ann"), {"ann": YES})
        await decided(one, await one.say("pay bob"), {"bob": edit})
        await decided(one, await one.say("pay cid"), {"cid": YES})
        calls = await calls_in(one)
    assert cashier.done == ["pay ann", "pay zoe", "pay cid"]
    assert [call.to for call in calls] == ["ann", "zoe", "cid"]
    assert all(f"paid {call.to}" in call.result for call in calls)


@cashiers()
async def test_an_answer_after_a_restart_is_for_the_call_that_was_shown(
    cashier: Cashier, tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path}/thread.db"
    async with talking(cashier, store) as one:
        await decided(one, await one.say("pay ann"), {"ann": YES})
        asked = await one.say("lookpay bob")
    async with talking(cashier, store) as one:
        await decided(one, asked, {"bob-1": YES})
        asked = await one.say("paytwice cid")
    async with talking(cashier, store) as one:
        second = await one.answer(asked, *(_fit(ask, YES) for ask in asked.asks))
    async with talking(cashier, store) as one:
        await decided(one, second, {"cid-1": YES})
        calls = await calls_in(one)
    assert cashier.done == ["pay ann", "look bob", "pay bob-1", "pay cid", "pay cid-1"]
    assert [call.result for call in calls] == [
        *("paid ann", "saw bob", "paid bob-1", "paid cid", "paid cid-1")
    ]


@cashiers(lambda kind, _: kind.hands_over)
async def test_each_result_of_the_application_is_for_its_own_call(cashier: Cashier) -> None:
    async with talking(cashier) as one:
        for to in ("ann", "bob", "cid"):
            await one.say(f"paint {to}", tools=[PAINT])
            pending = [call for call in await calls_in(one) if not call.result]
            assert [call.to for call in pending] == [to]
            result = {"role": "tool", "toolCallId": pending[0].id, "content": f"painted {to}"}
            done = await one.send([{"id": f"result-{to}", **result}])
            assert done.ending == "success"
        await decided(one, await one.say("hello", tools=[PAINT]))
        said = {call.to: call.result for call in await calls_in(one)}
    assert said == {to: f"painted {to}" for to in ("ann", "bob", "cid")}
    assert dict(heard_of(cashier.requests[-1])) == said


@cashiers(lambda kind, _: kind.remembers)
async def test_a_call_that_was_taken_back_leaves_its_id_to_no_other(cashier: Cashier) -> None:
    async with talking(cashier) as one:
        await decided(one, await one.say("hello"))
        first = await one.say("pay ann")
        await decided(one, first, {"ann": YES})
        before = await one.messages()
        newest = [m["id"] for m in before if m["role"] in ("user", "assistant")][-1]
        other = {"id": "other", "role": "user", "content": "pay bob"}
        again = await one.send([*before[:2], other], newest=newest)
        gone = {call.id for call in _shown(first)}
        assert gone.isdisjoint(call.id for call in await calls_in(one))
        await decided(one, again, {"bob": YES})
        calls = await calls_in(one)
        await decided(one, await one.say("hello"))
    assert cashier.done == ["pay ann", "pay bob"]
    assert [(call.to, call.result) for call in calls] == [("bob", "paid bob")]
    assert dict(heard_of(cashier.requests[-1])) == {"bob": "paid bob"}


def _shown(stream: Stream) -> list[Told]:
    starts = [event for event in stream.events if event["type"] == "TOOL_CALL_START"]
    return [Told(event["toolCallId"], event["toolCallName"], "", "") for event in starts]


@cashiers(lambda kind, _: kind.nests)
async def test_agents_inside_tools_have_calls_of_their_own(cashier: Cashier) -> None:
    async with talking(cashier) as one:
        await decided(one, await one.say("pay ann"), {"ann": YES})
        await decided(one, await one.say("clerk bob"), {"bob": YES})
        await decided(one, await one.say("clerk cid"), {"cid": NO})
        if cashier.nests > 1:
            await decided(one, await one.say("clerks dan"), {"dan": YES, "dan-1": YES})
        else:
            await decided(one, await one.say("clerk dan"), {"dan": YES})
            await decided(one, await one.say("clerk dan-1"), {"dan-1": YES})
        paid = {call.to: call.result for call in await calls_in(one) if call.tool == "pay"}
    assert sorted(cashier.done) == ["pay ann", "pay bob", "pay dan", "pay dan-1"]
    assert paid.pop("cid") != "paid cid"
    assert paid == {to: f"paid {to}" for to in ("ann", "bob", "dan", "dan-1")}
