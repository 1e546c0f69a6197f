"""Chunk events of a stream made into the START, CONTENT and END events that they stand for.

Source: AG-UI 1.1, streaming pattern; `@ag-ui/client` 1.0.0 reads chunks so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.lifecycle.event_rules import EVENT_RULES, KINDS
from agui_bridge.protocol.lifecycle.made_events import end_event, start_event
from agui_bridge.protocol.verifier.stream_rules import Fault

__all__ = ["Chunks"]

_OPENER: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("role", "name"),
    "call": ("toolCallName", "parentMessageId"),
    "reasoning": (),
}
"""What the first chunk says of its message or call; a later one may say it again."""

_CONTENT: Final = ("delta", "rawEvent", "metadata")
"""Any of these makes an event of content; else a chunk that goes on says nothing."""


@dataclass(slots=True)
class _Lane:
    """What an owner's chunks are streamed into."""

    kind: str
    id: str
    said: dict[str, str] = field(default_factory=dict)


class Chunks:
    """Reads the events of one stream in their order.

    A chunk goes on with what its owner's last chunk went on with, unless it names another id.
    Whatever else an owner does ends that.

    Attributes:
        lanes: by owner what its chunks are streamed into.
    """

    def __init__(self) -> None:
        self.lanes: dict[str | None, _Lane] = {}

    def expand(self, event: WireEvent) -> list[WireEvent] | Fault:
        """The events that one event stands for; itself when it is no chunk.

        Args:
            event: of the shape that its type has.

        Returns:
            A fault for a chunk of which nobody can say what it goes on with, or that contradicts
            the first one; then nothing has changed.
        """
        kind = event["type"]
        rule = EVENT_RULES.get(kind)
        if rule is None or (rule.verb != "chunk" and not self.lanes) or not rule.breaks:
            return [event]
        if rule.verb == "chunk":
            return self._take(rule.kind, event)
        if rule.verb == "refuse" or kind == "MESSAGES_SNAPSHOT":
            # These are about everybody.
            return [*(end for other in list(self.lanes) for end in self._end(other)), event]
        return [*self._end(event.get("subagentRunId")), event]

    def goes_on(self, kind: str, named: str) -> bool:
        """Whether a chunk of this id goes on with what the run's own last chunk went on with."""
        lane = self.lanes.get(None)
        return lane is not None and lane.id == named and lane.kind == kind

    def _take(self, kind: str, event: WireEvent) -> list[WireEvent] | Fault:
        key = KINDS[kind].key
        named = event.get(key)
        owner = self._owner(kind, event, named)
        if isinstance(owner, Fault):
            return owner
        (tag,) = owner
        lane = self.lanes.get(tag)
        if lane is not None and lane.kind == kind and named in (None, lane.id):
            return self._differing(lane, event) or self._content(lane, event, tag, first=False)
        if named is None or (kind == "call" and "toolCallName" not in event):
            missing = key if named is None else "toolCallName"
            return Fault(
                "chunk.call" if kind == "call" else "chunk.unnamed",
                f"First {event['type']} must have a {missing}",
            )
        ends = self._end(tag)
        start = start_event(kind, {k: v for k, v in event.items() if k in _opening(kind)})
        said = {member: start[member] for member in _OPENER[kind] if member in start}
        lane = self.lanes[tag] = _Lane(kind, named, said)
        return [*ends, start, *self._content(lane, event, tag, first=True)]

    def _owner(self, kind: str, event: WireEvent, named: str | None) -> tuple[str | None] | Fault:
        """Whose lane a chunk belongs to: that of its id, of its tag, or the only such one."""
        tag: str | None = event.get("subagentRunId")
        if named is not None:
            for owner, lane in self.lanes.items():
                if lane.kind == kind and lane.id == named:
                    if tag not in (None, owner):
                        return Fault(
                            "owner",
                            f"'{event['type']}' of '{named}': subagentRunId '{tag}' does not match "
                            f"the open stream's, {owner or 'the parent agent'!r}",
                        )
                    return (owner,)
            return (tag,)
        mine = self.lanes.get(None)
        if tag is not None or (mine is not None and mine.kind == kind):
            return (tag,)
        open_lanes = [owner for owner, lane in self.lanes.items() if lane.kind == kind]
        if len(open_lanes) > 1:
            return Fault(
                "chunk.ambiguous",
                f"Ambiguous {event['type']}: it has neither {KINDS[kind].key} nor subagentRunId, "
                f"and {len(open_lanes)} are open",
            )
        return (open_lanes[0],) if open_lanes else (None,)

    def _differing(self, lane: _Lane, event: WireEvent) -> Fault | None:
        for member in _OPENER[lane.kind]:
            if member in event and event[member] != lane.said.get(member):
                return Fault(
                    "chunk.tool" if member == "toolCallName" else "chunk.differs",
                    f"{event['type']} of '{lane.id}': {member} {event[member]!r} does not match "
                    f"the open stream's {member}, {lane.said.get(member, 'absent')!r}",
                )
        return None

    def _content(
        self, lane: _Lane, event: WireEvent, owner: str | None, *, first: bool
    ) -> list[WireEvent]:
        carried = ("delta", "rawEvent") if first else _CONTENT
        if not any(member in event for member in carried):
            return []
        left_out = ("type", KINDS[lane.kind].key, "subagentRunId", "delta", *_OPENER[lane.kind])
        content: WireEvent = {"type": KINDS[lane.kind].content}
        if owner is not None:
            content["subagentRunId"] = owner
        content[KINDS[lane.kind].key] = lane.id
        content["delta"] = event.get("delta", "")
        # What this version does not know rides along, as it would on the event itself.
        content |= {key: value for key, value in event.items() if key not in left_out}
        return [content]

    def _end(self, owner: str | None) -> list[WireEvent]:
        lane = self.lanes.pop(owner, None)
        return [] if lane is None else [end_event(lane.kind, lane.id, owner)]


def _opening(kind: str) -> tuple[str, ...]:
    return ("metadata", "subagentRunId", KINDS[kind].key, *_OPENER[kind])
