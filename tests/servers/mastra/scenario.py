"""A conversation with an agent of the Mastra server: recorded once, replayed in tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from agui_bridge import Bridge
from agui_bridge_mastra import MastraAdapter
from agui_bridge_mastra.requests import Kind
from tests.docs.pages import Conversation

__all__ = ["Scenario", "events_of", "transcript_of"]

_IDS = frozenset(
    {"messageId", "toolCallId", "subagentRunId", "parentToolCallId", "parentMessageId", "id",
     "parentSubagentRunId"}
)  # fmt: skip
_THEIRS = frozenset({"args", "items", "result", "suspendPayload", "value"})
"""Members that hold what Mastra said; a random id in there is a leak."""


@dataclass(frozen=True)
class Scenario:
    """What is said, and what people answer.

    Attributes:
        agent: id of the agent or the workflow.
        turns: what the person does, in order: a text is said, a tuple answers the open questions
            in their order; None in it cancels.
        kind: what the agent is.
        options: further arguments of the adapter.
    """

    agent: str
    turns: tuple[str | tuple[Any, ...], ...]
    kind: Kind = "agent"
    options: Mapping[str, Any] = field(default_factory=dict)


async def events_of(
    name: str, scenario: Scenario, url: str, client: httpx.AsyncClient
) -> list[dict[str, Any]]:
    """Carry a scenario out before the server that the client reaches; gives what a page is told.

    Args:
        name: the scenario's: its thread.
        scenario: it.
        url: address of the server.
        client: what reaches it.
    """
    adapter = MastraAdapter(
        url,
        scenario.agent,
        kind=scenario.kind,
        resume_network_path="/x/agents/{agent}/resume-network",
        client=client,
        **scenario.options,
    )
    bridge = Bridge()
    bridge.add("agent", adapter)
    events: list[dict[str, Any]] = []
    async with bridge.lifespan():
        talk = Conversation(bridge, "agent", name)
        for turn in scenario.turns:
            if isinstance(turn, str):
                await talk.say(turn)
            else:
                await talk.answer(*turn)
            events += talk.events
    return events


def transcript_of(events: list[dict[str, Any]]) -> str:
    """Events as lines of JSON, with ids by the order in which they appear: they are random."""
    names = _Names()
    told = [names.of(event) for event in events if not _restates(event)]
    return "".join(json.dumps(e, ensure_ascii=False, sort_keys=True) + "\n" for e in told)


def _restates(event: dict[str, Any]) -> bool:
    """Whether an event only says again what is known: the conversation, an empty state."""
    kind = event["type"]
    return kind == "MESSAGES_SNAPSHOT" or (kind == "STATE_SNAPSHOT" and not event["snapshot"])


class _Names:
    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def of(self, value: Any, key: str = "") -> Any:
        if key in _THEIRS:
            return value
        if isinstance(value, dict):
            return {name: self.of(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self.of(item, "id" if key == "interruptIds" else "") for item in value]
        if key in _IDS and isinstance(value, str):
            return self._seen.setdefault(value, f"id{len(self._seen) + 1}")
        if key == "message" and isinstance(value, str):
            for own, name in self._seen.items():
                value = value.replace(own, name)
        return value
