"""Conversations with peers behind the bridge: recorded once, replayed in tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agui_bridge import Bridge
from agui_bridge_agui import AguiAdapter
from tests.docs.pages import Conversation
from tests.servers.peers.peer import VARIANTS

__all__ = ["SCENARIOS", "Told", "conversation", "scenarios_of"]

_YES: Final[Any] = {"approved": True}
_NO: Final[Any] = {"approved": False, "reason": "too rude"}

SCENARIOS: Final[Mapping[str, tuple[str | tuple[Any, ...], ...]]] = {
    "approve": ("send ann", (_YES,), "hello"),
    "both": ("both ann", (_YES, _YES)),
    "one-cancelled": ("both ann", (_YES, None), "hello"),
    "one-declined": ("both ann", (_NO, _YES)),
    "fails": ("fail ann", (_YES,), "hello"),
}
"""What is said, and what the open questions are answered with in their order; None cancels."""

FLOWS: Final[Mapping[str, tuple[str | tuple[Any, ...], ...]]] = {
    "feedback": ("send ann", ("approved",), "send bob", (None,), "hello"),
}
"""The same with peers that ask about no calls, and about one thing at a time."""

IN_TURN: Final[Mapping[str, tuple[str | tuple[Any, ...], ...]]] = {
    "approve": SCENARIOS["approve"],
    "both": ("both ann", (_YES,), (_YES,)),
    "one-declined": ("both ann", (_NO,), (_YES,)),
}
"""The same with peers that ask about one call after the other."""


def scenarios_of(variant: str) -> Mapping[str, tuple[str | tuple[Any, ...], ...]]:
    """Those that are had with a peer."""
    if "parallel" in VARIANTS[variant].prompts:
        return SCENARIOS
    return FLOWS if "confirmation" in VARIANTS[variant].prompts else IN_TURN


@dataclass
class Told:
    """What a page was told.

    Attributes:
        endings: of each run, its outcome or its error's code.
        asks: the reason, and the tool, of each question.
        results: of each call, in the order of the calls, by the address that it writes to.
        said: the text of the last run.
    """

    endings: list[str] = field(default_factory=list)
    asks: list[tuple[str, str | None]] = field(default_factory=list)
    results: dict[str, str] = field(default_factory=dict)
    said: str = ""


async def conversation(name: str, url: str) -> Told:
    """Have a conversation with the peer at an address, behind a bridge."""
    variant, _, scenario = name.partition(".")
    bridge = Bridge()
    bridge.add("agent", AguiAdapter(url, peer=VARIANTS[variant].peer))
    told = Told()
    calls: dict[str, dict[str, Any]] = {}
    async with bridge.lifespan():
        talk = Conversation(bridge, "agent", name)
        for turn in scenarios_of(variant)[scenario]:
            if isinstance(turn, str):
                told.said = await talk.say(turn)
            else:
                told.said = await talk.answer(*turn)
            last = talk.events[-1]
            told.endings.append(
                last["code"] if last["type"] == "RUN_ERROR" else last["outcome"]["type"]
            )
            for event in talk.events:
                if event["type"] == "MESSAGES_SNAPSHOT":
                    _note(event["messages"], calls, told)
            if told.endings[-1] == "interrupt":
                asked = last["outcome"]["interrupts"]
                named = [calls.get(ask.get("toolCallId"), {}).get("name") for ask in asked]
                told.asks += [(ask["reason"], tool) for ask, tool in zip(asked, named, strict=True)]
    return told


def _note(messages: list[dict[str, Any]], calls: dict[str, Any], told: Told) -> None:
    for message in messages:
        for call in message.get("toolCalls") or ():
            calls[call["id"]] = call["function"]
        if message["role"] == "tool":
            function = calls[message["toolCallId"]]
            told.results[function["arguments"]] = message["content"]
