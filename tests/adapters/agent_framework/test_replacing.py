"""Agents that say something in place of what they said: clients and threads have what stands."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from agent_framework import AgentResponse, AgentResponseUpdate, BaseAgent, Content, ResponseStream

from agui_bridge import Bridge
from agui_bridge.testing import talk
from agui_bridge_agent_framework import AgentFrameworkAdapter
from tests.adapters.agent_framework import flows
from tests.support.folds import fold

pytestmark = pytest.mark.anyio

Merge = Literal["append", "replace"]


def update(
    *texts: str,
    message: str | None = None,
    each: Merge | None = None,
    all_of_it: Merge | None = None,
) -> AgentResponseUpdate:
    """One update of an agent.

    Args:
        texts: what it says.
        message: id of the message that it belongs to.
        each: how each text goes with what was said.
        all_of_it: how the update does.
    """
    contents = [Content.from_text(text, merge_mode=each) for text in texts]
    return AgentResponseUpdate(
        contents=contents, role="assistant", message_id=message, merge_mode=all_of_it
    )


def said(text: str) -> AgentResponseUpdate:
    return update(text, each="append")


def repeated(text: str) -> AgentResponseUpdate:
    return update(text, each="replace")


CASES: dict[str, tuple[list[AgentResponseUpdate], list[str]]] = {
    "repeated": ([said("Pa"), said("id."), repeated("Paid.")], ["Paid."]),
    "longer": ([said("Pa"), repeated("Paid.")], ["Paid."]),
    "only repeated": ([repeated("Paid.")], ["Paid."]),
    "grows": ([repeated("P"), repeated("Pai"), repeated("Paid.")], ["Paid."]),
    "another": ([said("Paid 100."), repeated("Paid.")], ["Paid."]),
    "twice another": ([said("A"), repeated("B"), repeated("C")], ["C"]),
    "another, which grows": ([said("A"), repeated("B"), repeated("BC")], ["BC"]),
    "another, and more": ([said("A"), repeated("B"), said("C")], ["B", "C"]),
    "the second part": ([said("A."), repeated("A."), said("B"), repeated("C.")], ["A.C."]),
    "the whole message": (
        [
            update("Working", message="m", each="replace", all_of_it="replace"),
            update("…", message="m", each="append", all_of_it="append"),
            update("Pa", "id.", message="m", each="replace", all_of_it="replace"),
        ],
        ["Paid."],
    ),
    "a second message": (
        [
            update("Paid.", message="m", all_of_it="replace"),
            update("Paid.", message="n", all_of_it="replace"),
        ],
        ["Paid.", "Paid."],
    ),
    "taken back": ([said("Secret"), repeated(""), said("Paid.")], ["", "Paid."]),
}


class Parrot(BaseAgent):
    """An agent that says what it was given, in these updates."""

    def __init__(self, updates: Sequence[AgentResponseUpdate]) -> None:
        super().__init__(name="parrot")
        self._updates = updates

    def run(self, messages: Any = None, **_: Any) -> Any:
        """Say it."""

        async def stream() -> AsyncIterator[AgentResponseUpdate]:
            for one in self._updates:
                yield one

        return ResponseStream(stream(), finalizer=AgentResponse.from_updates)


@pytest.mark.parametrize("case", CASES)
async def test_what_is_said_in_place_of_something_stands_alone(case: str, tmp_path: Path) -> None:
    updates, expected = CASES[case]
    bridge = Bridge("memory:")

    def build(_: Any) -> Any:
        return flows.agents(Parrot(updates))

    bridge.add("parrot", AgentFrameworkAdapter(build, checkpoints=tmp_path))
    async with talk(bridge, "parrot") as one:
        ended = await one.say("hello")
        assert ended.ending == "success"
        kept = await one.messages()
    shown = fold(*ended.events).messages
    for messages in (kept, shown):
        assert [m["content"] for m in messages if m["role"] == "assistant"] == expected
