"""Results of the application that come apart: each framework's model reads all, once."""

from __future__ import annotations

from typing import Any

import pytest

from agui_bridge import Bridge
from agui_bridge.testing import talk
from agui_bridge.testing.conversation import Stream
from tests.adapters.cashiers import CASHIERS, PAINT, Cashier, by_place

pytestmark = pytest.mark.timeout(120)

YES = {"approved": True}

kinds = pytest.mark.parametrize(
    "kind", [pytest.param(k, id=name) for name, k in CASHIERS.items() if k.hands_over]
)


def calls_in(stream: Stream) -> list[str]:
    return [e["toolCallId"] for e in stream.events if e["type"] == "TOOL_CALL_START"]


def result_of(call: str, text: str) -> Any:
    return {"id": f"result-{call}", "role": "tool", "toolCallId": call, "content": text}


def read_of(messages: Any) -> list[str]:
    """What clients have as results of calls."""
    return [m["content"] for m in messages if m["role"] == "tool"]


def read_by(cashier: Cashier) -> list[str]:
    """What the model was told last of its calls."""
    return [one.text for one in cashier.requests[-1] if one.by == "tool"]


@kinds
async def test_two_results_that_come_one_after_the_other(kind: type[Cashier]) -> None:
    cashier = kind(by_place)
    bridge = Bridge("memory:")
    bridge.add("cashier", cashier.adapter())
    async with talk(bridge, "cashier") as one:
        first, second = calls_in(await one.say("paintpaint ann", tools=[PAINT]))
        requests = len(cashier.requests)
        assert (await one.send([result_of(first, "red")])).ending == "success"
        assert len(cashier.requests) == requests, "it waits for the other one"
        assert (await one.send([result_of(second, "blue")])).text == "Done."
    assert read_by(cashier) == ["red", "blue"]


ANSWERS: dict[str, tuple[Any, str, list[str]]] = {
    # What people say, what is told of their call, and what was carried out.
    "approved": (YES, "paid ann-1", ["pay ann-1"]),
    "edited": ({**YES, "editedArgs": {"to": "eve"}}, "paid eve", ["pay eve"]),
    "declined": ({"approved": False, "reason": "not her"}, "Reason: not her", []),
}


@pytest.mark.parametrize(
    ("kind", "answer", "told", "done"),
    [
        pytest.param(kind, *case, id=f"{name}-{what}")
        for name, kind in CASHIERS.items()
        for what, case in ANSWERS.items()
        if kind.hands_over and (what != "edited" or True in kind.edits)
    ],
)
async def test_a_result_that_comes_after_the_answer_to_another_call(
    kind: type[Cashier], answer: Any, told: str, done: list[str]
) -> None:
    cashier = kind(by_place)
    bridge = Bridge("memory:")
    bridge.add("cashier", cashier.adapter())
    async with talk(bridge, "cashier") as one:
        asked = await one.say("paintpay ann", tools=[PAINT])
        answered = await one.answer(asked, answer)
        assert answered.ending == "success"
        assert (cashier.done, len(cashier.requests)) == (done, 1), "it waits for the other one"
        (result,) = (e["content"] for e in answered.events if e["type"] == "TOOL_CALL_RESULT")
        assert told in result
        assert (await one.send([result_of(calls_in(asked)[0], "red")])).text == "Done."
        # The same answer again begins nothing again.
        await one.answer(asked, answer)
        assert sorted(read_of(await one.messages())) == sorted([result, "red"])
    read = read_by(cashier)
    assert len(read) == 2 and "red" in read and any(told in text for text in read)
    assert (cashier.done, len(cashier.requests)) == (done, 2)


@kinds
async def test_what_people_say_beside_the_answer_is_read_after_the_result(
    kind: type[Cashier],
) -> None:
    cashier = kind(by_place)
    bridge = Bridge("memory:")
    bridge.add("cashier", cashier.adapter())
    async with talk(bridge, "cashier") as one:
        asked = await one.say("paintpay ann", tools=[PAINT])
        await one.begin("look bob", resume=asked.entries(YES)).rest()
        assert len(cashier.requests) == 1, "it waits for the other one"
        assert (await one.send([result_of(calls_in(asked)[0], "red")])).ending == "success"
    last = cashier.requests[-1]
    assert cashier.done == ["pay ann-1", "look bob"]
    assert {"red", "paid ann-1", "saw bob"} == {h.text for h in last if h.by == "tool"}


@kinds
async def test_a_message_in_place_of_the_result(kind: type[Cashier]) -> None:
    cashier = kind(by_place)
    bridge = Bridge("memory:")
    bridge.add("cashier", cashier.adapter())
    async with talk(bridge, "cashier") as one:
        await one.answer(await one.say("paintpay ann", tools=[PAINT]), YES)
        assert (await one.say("look bob")).ending == "success"
    told = {one.text for one in cashier.requests[-1] if one.by == "tool"}
    assert {"paid ann-1", "saw bob"} < told, "and that nothing is known of the other one"
    assert cashier.done == ["pay ann-1", "look bob"]
