"""What a stream has open, for who comes to it late: a reader that missed the beginning.

A snapshot alone can't tell that a message still grows: a delta for a message that the reader has
not seen START is refused by strict clients. So what is open stands in the snapshot empty, and is
opened and filled again by events of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.lifecycle.event_rules import EVENT_RULES, KINDS
from agui_bridge.protocol.lifecycle.made_events import delta_event

__all__ = ["Openings"]

Message = Mapping[str, Any]


class Openings:
    """The events that opened what is open now, in their order."""

    def __init__(self) -> None:
        self._started: dict[tuple[str, str, str | None], WireEvent] = {}

    def note(self, event: WireEvent) -> None:
        """Take an event that was sent."""
        rule = EVENT_RULES[event["type"]]
        if rule.verb not in ("open", "close"):
            return
        # Steps are told apart by their owner too: two subagents may have one of the same name.
        owner = event.get("subagentRunId") if rule.kind == "step" else None
        key = (rule.kind, event[KINDS[rule.kind].key], owner)
        if rule.verb == "open":
            self._started[key] = event
        else:
            self._started.pop(key, None)

    def catch_up(self, messages: Iterable[Message]) -> tuple[list[Message], list[WireEvent]]:
        """Tell a conversation to who comes late.

        Args:
            messages: the conversation, what is open as far as it has come.

        Returns:
            The messages of a snapshot, and the events that follow it.
        """
        if not self._started:
            return list(messages), []
        said: dict[tuple[str, str], str] = {}
        shown = [self._emptied(message, said) for message in messages]
        events: list[WireEvent] = []
        for (kind, name, _), start in self._started.items():
            events.append(start)
            if text := said.get((kind, name)):
                events.append(delta_event(kind, name, start.get("subagentRunId"), text))
        return shown, events

    def _emptied(self, message: Message, said: dict[tuple[str, str], str]) -> Message:
        """A message without what is streamed into it now, which goes into `said`."""
        for kind in ("text", "reasoning"):
            if (kind, message["id"], None) in self._started:
                said[kind, message["id"]] = message["content"]
                message = {**message, "content": ""}
        calls = message.get("toolCalls") or ()
        if any(("call", call["id"], None) in self._started for call in calls):
            message = {**message, "toolCalls": [self._without_arguments(c, said) for c in calls]}
        return message

    def _without_arguments(
        self, call: Mapping[str, Any], said: dict[tuple[str, str], str]
    ) -> Mapping[str, Any]:
        if ("call", call["id"], None) not in self._started:
            return call
        said["call", call["id"]] = call["function"]["arguments"]
        return {**call, "function": {**call["function"], "arguments": ""}}
