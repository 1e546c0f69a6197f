"""Chunk events of a stream made into the START, CONTENT and END events that they stand for.

Source: AG-UI 1.0, lifecycle and tool-calls pages; `@ag-ui/client` 1.0.0 reads chunks so.
"""

from __future__ import annotations

from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.lifecycle.event_rules import KINDS, RULES
from agui_bridge.protocol.lifecycle.made_events import delta_event, end_event, start_event

__all__ = ["ChunkFault", "Chunks"]


class ChunkFault(ValueError):
    """A chunk that belongs to nothing: the first one of a message or call names no id."""


class Chunks:
    """Reads the events of one stream in their order.

    A chunk goes on with what its owner's last chunk went on with, unless it names another id.
    Whatever else an owner does ends that.
    """

    def __init__(self) -> None:
        self._open: dict[str | None, tuple[str, str]] = {}

    def expand(self, event: WireEvent) -> list[WireEvent]:
        """The events that one event stands for; itself when it is no chunk.

        Raises:
            ChunkFault: it names no id, or no tool, and goes on with nothing.
        """
        rule = RULES.get(event["type"])
        owner = event.get("subagentRunId")
        if rule is None or not rule.breaks:
            return [event]
        if rule.verb == "refuse":
            # RUN_STARTED, RUN_FINISHED and RUN_ERROR end what everybody streams.
            return [*(end for other in list(self._open) for end in self._end(other)), event]
        if rule.verb != "chunk":
            return [*self._end(owner), event]
        key = KINDS[rule.kind].key
        named = event.get(key)
        current = self._open.get(owner)
        if current is not None and current[0] == rule.kind and named in (None, "", current[1]):
            return _content(rule.kind, current[1], event)
        if not named or (rule.kind == "call" and not event.get("toolCallName")):
            missing = "toolCallName" if named else key
            raise ChunkFault(f"{event['type']}: the first one must have a {missing}")
        ends = self._end(owner)
        self._open[owner] = (rule.kind, named)
        return [*ends, start_event(rule.kind, event), *_content(rule.kind, named, event)]

    def _end(self, owner: str | None) -> list[WireEvent]:
        current = self._open.pop(owner, None)
        return [] if current is None else [end_event(*current, owner)]


def _content(kind: str, wire_id: str, event: WireEvent) -> list[WireEvent]:
    delta = event.get("delta")
    return [delta_event(kind, wire_id, event.get("subagentRunId"), delta)] if delta else []
