"""Shapes that AG-UI once had, made into those that it has.

An older producer still sends them; what nobody translates would count as unknown.

Source: AG-UI 1.1, versioning: retired shapes; `@ag-ui/client` 1.0.0 translates them so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.content_parts import upgrade_parts

__all__ = ["RETIRED", "Retired", "with_parts_of_today"]

RETIRED: Final[Mapping[str, str]] = {
    "THINKING_START": "REASONING_START",
    "THINKING_END": "REASONING_END",
    "THINKING_TEXT_MESSAGE_START": "REASONING_MESSAGE_START",
    "THINKING_TEXT_MESSAGE_CONTENT": "REASONING_MESSAGE_CONTENT",
    "THINKING_TEXT_MESSAGE_END": "REASONING_MESSAGE_END",
}
"""Events from before reasoning, which had no ids, and what they are now."""


class Retired:
    """Translates the events of one stream in their order.

    Args:
        mint: gives a new message id at each call.
    """

    def __init__(self, mint: Callable[[], str]) -> None:
        self._mint = mint
        self._ids: dict[str, str] = {}

    def renew(self, event: WireEvent) -> tuple[WireEvent, str]:
        """The event of today for one of RETIRED, and what there is to say of it."""
        was = event["type"]
        now = RETIRED[was]
        family = "message" if "MESSAGE" in now else "span"
        if now.endswith("_START") or family not in self._ids:
            self._ids[family] = self._mint()
        made = {key: value for key, value in event.items() if key != "title"}
        made |= {"type": now, "messageId": self._ids[family]}
        if now == "REASONING_MESSAGE_START":
            made["role"] = "reasoning"
        if now.endswith("_END"):
            del self._ids[family]
        lost = f", without its title {event['title']!r:.60}" if "title" in event else ""
        return made, f"{was} is read as {now}{lost}"


def with_parts_of_today(event: WireEvent) -> WireEvent:
    """An event whose messages have no binary parts, which are typed media now."""
    messages = event.get("messages")
    if not isinstance(messages, list):
        return event
    renewed = [upgrade_parts(message) for message in messages]
    same = all(one is other for one, other in zip(renewed, messages, strict=True))
    return event if same else {**event, "messages": renewed}
