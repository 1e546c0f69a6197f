"""Who hears the next message: the agent that took the conversation over, while it is there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, function_tool, handoff

from agui_bridge import Bridge, Settings
from agui_bridge.testing import talk
from agui_bridge_openai_agents import OpenAIAgentsAdapter
from examples.openai_agents.offline import Call, Item, OfflineModel
from tests.adapters.mails import YES

TO_SEATS = "transfer_to_seats"
BACK = "transfer_to_triage"


class Desk:
    """A triage that hands over to who knows about seats, and may be handed back to.

    Args:
        seats: whether somebody knows about seats.

    Attributes:
        paid: what was paid.
    """

    def __init__(self, seats: bool = True) -> None:
        self.paid: list[str] = []
        pay = function_tool(self.pay, needs_approval=True)
        self.triage: Any = Agent("triage", model=self._model("triage"))
        if seats:
            other: Any = Agent("seats", model=self._model("seats"), tools=[pay])
            other.handoffs = [handoff(self.triage)]
            self.triage.handoffs = [other]

    async def pay(self, to: str) -> str:
        """Pay for a seat."""
        self.paid.append(to)
        return f"paid {to}"

    def _model(self, name: str) -> OfflineModel:
        async def reply(items: list[Item], tools: Any) -> AsyncIterator[Any]:
            said = max(n for n, one in enumerate(items) if one.get("role") == "user")
            done = {one.get("name") for one in items[said:]}
            content = items[said]["content"]
            text = content if isinstance(content, str) else content[-1]["text"]
            if (name, text) == ("triage", "seat") and TO_SEATS not in done:
                yield Call(TO_SEATS)
            elif text == "seat or fail":
                if name == "seats":
                    raise LookupError(text)
                yield Call(TO_SEATS)
            elif (name, text) == ("triage", "seat twice") and TO_SEATS not in done:
                yield Call(TO_SEATS)
                yield Call(TO_SEATS)
            elif (name, text) == ("seats", "back") and BACK not in done:
                yield Call(BACK)
            elif (name, text) == ("seats", "pay") and "pay" not in done:
                yield Call("pay", {"to": "ann"})
            else:
                yield f"{name}: {text}"

        return OfflineModel(reply)


def bridge_of(desk: Any, **options: Any) -> Bridge:
    bridge = Bridge("memory:")
    bridge.add("desk", OpenAIAgentsAdapter(lambda run: desk().triage, **options))
    return bridge


async def heard(*texts: str, desk: Any = Desk) -> list[str]:
    """What is said to some messages; each run has agents that are made anew."""
    async with talk(bridge_of(desk), "desk") as one:
        return [(await one.say(text)).text for text in texts]


async def test_the_next_message_goes_to_who_took_over() -> None:
    assert await heard("hi", "seat", "C3", "thanks") == [
        "triage: hi",
        "seats: seat",
        "seats: C3",
        "seats: thanks",
    ]


async def test_and_back_again() -> None:
    assert await heard("seat", "back", "hi", "seat", "C3") == [
        "seats: seat",
        "triage: back",
        "triage: hi",
        "seats: seat",
        "seats: C3",
    ]


async def test_of_two_handoffs_at_once_one_counts() -> None:
    assert await heard("seat twice", "C3") == ["seats: seat twice", "seats: C3"]


async def test_a_run_that_fails_after_the_handoff_hands_over_all_the_same() -> None:
    async with talk(bridge_of(Desk), "desk") as one:
        assert (await one.say("seat or fail")).ending == "AGENT_ERROR"
        assert (await one.say("C3")).text == "seats: C3"


async def test_an_approval_and_what_comes_after_it_are_of_who_took_over() -> None:
    desk = Desk()
    async with talk(bridge_of(lambda: desk), "desk") as one:
        await one.say("seat")
        asked = await one.say("pay")
        assert (await one.answer(asked, YES)).text == "seats: pay"
        assert (await one.say("C3")).text == "seats: C3"
    assert desk.paid == ["ann"]


async def test_where_it_is_gone_the_first_hears_it() -> None:
    desks = iter([Desk(), Desk(seats=False), Desk()])
    async with talk(bridge_of(lambda: next(desks)), "desk") as one:
        assert (await one.say("seat")).text == "seats: seat"
        assert (await one.say("C3")).text == "triage: C3"


async def test_who_goes_back_before_the_handoff_talks_to_the_first_again() -> None:
    async with talk(bridge_of(Desk), "desk") as one:
        await one.say("hi")
        page = await one.messages()
        assert (await one.say("seat")).text == "seats: seat"
        newest = (await one.messages())[-1]["id"]
        edited = [*page, {"id": "u9", "role": "user", "content": "C3"}]
        assert (await one.send(edited, newest=newest)).text.startswith("triage: C3")


async def test_a_note_that_is_too_large_does_not_lose_who_took_over() -> None:
    bridge = Bridge("memory:", settings=Settings(max_memo_bytes=1))
    bridge.add("desk", OpenAIAgentsAdapter(Desk().triage))
    async with talk(bridge, "desk") as one:
        await one.say("seat")
        assert (await one.say("C3")).text == "seats: C3"
