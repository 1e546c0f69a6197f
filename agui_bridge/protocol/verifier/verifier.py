"""One verifier of streams: what reads them, what relays them and what tests them use it.

| mode | who | what breaks a rule | what AG-UI does not describe |
|---|---|---|---|
| `consumer` | the client | ends the stream, as in the reference client | left out, with a note |
| `repair` | the proxy | is mended as `shapes.py` says, or refused | passed on, with a note |
| `strict` | the kit | is told, and the rest is judged too | passed on, with a note |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.lifecycle.event_rules import (
    EVENT_RULES,
    KINDS,
    delta_event,
    end_event,
    start_event,
)
from agui_bridge.protocol.threads.content_parts import upgrade_parts
from agui_bridge.protocol.verifier.order import Order
from agui_bridge.protocol.verifier.shapes import (
    EVENT_TYPES,
    MAY_BE_NULL,
    STREAM_RULES,
    Fault,
    shape_fault,
    without_unknown,
)
from agui_bridge.protocol.versions import version_note

# --- chunk events of a stream made into the START, CONTENT and END events that they stand for ---
#
# Source: AG-UI 1.1, streaming pattern; `@ag-ui/client` 1.0.0 reads chunks so.

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


# --- the verifier ---

Mode: TypeAlias = Literal["strict", "consumer", "repair"]

_PLAIN: Final = {
    kind: (rule.kind, KINDS[rule.kind].key, rule.verb == "chunk")
    for kind, rule in EVENT_RULES.items()
    if rule.verb in ("append", "chunk")
}
"""Events that are only a delta, as nearly all are: of what, its id's key, whether a chunk."""


class Taken(NamedTuple):
    """What came of one event.

    Attributes:
        events: what it stands for: itself, or for a chunk START, CONTENT and END events, or
            nothing. With a fault, what came before the fault.
        notes: what was left out, translated or mended, for a log.
        faults: the rules that it breaks. One at most but in `strict`.
    """

    events: Sequence[WireEvent]
    notes: Sequence[str] = ()
    faults: Sequence[Fault] = ()


class Verifier:
    """Judges one stream of events, in their order.

    Args:
        mode: what happens to an event that breaks a rule.
        mint: gives a new message id at each call, for what an older producer did not name.
    """

    def __init__(self, mode: Mode, mint: Callable[[], str]) -> None:
        self._mode = mode
        self._mint = mint
        self._order = Order()
        self._chunks = Chunks()
        self._retired = Retired(mint)

    def take(self, event: WireEvent) -> Taken:
        """Take the next event of the stream.

        Args:
            event: a JSON object with a text as `type`, otherwise as it came.
        """
        plain = _PLAIN.get(event["type"]) if len(event) == 3 else None
        if plain is not None:
            kind, key, chunked = plain
            named: Any = event.get(key)
            delta: Any = event.get("delta")
            sound = isinstance(named, str) and isinstance(delta, str)
            # Nothing is open but within a run. What is wrong is found on the long way.
            if sound and named in self._order.open[kind]:
                if chunked and self._chunks.goes_on(kind, named):
                    return Taken((delta_event(kind, named, None, delta),))
                if not chunked and not self._chunks.lanes:
                    return Taken((event,))
        return self._whole(event)

    def close(self) -> Fault | None:
        """Why the stream may not end here; None when it may."""
        return self._order.unended()

    def _whole(self, event: WireEvent) -> Taken:
        notes: list[str] = []
        kind = event["type"]
        if kind in RETIRED:
            event, note = self._retired.renew(event)
            notes.append(note)
            kind = event["type"]
        if kind not in EVENT_TYPES:
            passed = (event,) if self._mode == "strict" else ()
            return Taken(passed, (*notes, f"{kind:.60} is no event of AG-UI's"))
        if None in event.values():
            event = {k: v for k, v in event.items() if v is not None or k in MAY_BE_NULL}
        if "messages" in event:
            event = with_parts_of_today(event)
        known, paths = without_unknown(event, members=self._mode == "consumer")
        notes += (f"{kind}: AG-UI does not describe {path:.100}" for path in paths)
        if fault := shape_fault(known):
            return Taken((), notes, (fault,))
        if kind == "RUN_STARTED" and (said := version_note(known.get("protocolVersion"))):
            notes.append(said)
        return self._in_order(known if self._mode == "consumer" else event, notes)

    def _in_order(self, event: WireEvent, notes: list[str]) -> Taken:
        events: list[WireEvent] = []
        faults: list[Fault] = []
        expanded = self._chunks.expand(event)
        if isinstance(expanded, Fault):
            expanded = self._mended_chunk(event, expanded, notes, faults)
        for each in expanded:
            fault = self._order.take(each)
            if fault is None:
                events.append(each)
                continue
            if self._mode == "repair":
                self._mend(each, fault, events, notes, faults)
            else:
                faults.append(fault)
                self._go_on(each, fault, events)
            if faults and self._mode != "strict":
                break
        return Taken(events, notes, faults)

    # What breaks a rule.

    def _mended_chunk(
        self, event: WireEvent, fault: Fault, notes: list[str], faults: list[Fault]
    ) -> list[WireEvent]:
        remedy = STREAM_RULES[fault.rule].remedy if self._mode == "repair" else "refuse"
        if remedy == "supply":
            event = {**event, "messageId": self._mint()}
        elif remedy == "keep":
            event = {k: value for k, value in event.items() if k not in ("role", "name")}
            event.pop("parentMessageId", None)
        else:
            faults.append(fault)
            return []
        notes.append(f"{fault.message}: {_DONE[remedy]}")
        expanded = self._chunks.expand(event)
        if isinstance(expanded, Fault):
            faults.append(expanded)
            return []
        return expanded

    def _mend(
        self,
        event: WireEvent,
        fault: Fault,
        events: list[WireEvent],
        notes: list[str],
        faults: list[Fault],
    ) -> None:
        remedy = STREAM_RULES[fault.rule].remedy
        if remedy == "refuse":
            faults.append(fault)
            return
        notes.append(f"{fault.message}: {_DONE[remedy]}")
        if remedy == "drop":
            return
        for each in self._remedied(event, fault, events):
            if (again := self._order.take(each)) is None:
                events.append(each)
            else:
                self._mend(each, again, events, notes, faults)
            if faults:
                return

    def _remedied(
        self, event: WireEvent, fault: Fault, events: list[WireEvent]
    ) -> Sequence[WireEvent]:
        """What to take in place of an event that can't come now, itself at the end."""
        match fault.rule:
            case "run.open":
                events += self._order.close_all()
            case "run.nested":
                events += self._order.close_all()
                self._order.end()
            case "content.unopened":
                rule = EVENT_RULES[event["type"]]
                first = {k: event[k] for k in (KINDS[rule.kind].key, "subagentRunId") if k in event}
                return (start_event(rule.kind, first), event)
            case "subagent.parent":
                return ({k: v for k, v in event.items() if k != "parentSubagentRunId"},)
            case _:
                self._order.begin()
        return (event,)

    def _go_on(self, event: WireEvent, fault: Fault, events: list[WireEvent]) -> None:
        """Take an event as what it is meant for, so that what follows it is judged fairly."""
        if self._mode != "strict":
            return
        if fault.rule == "run.first":
            self._order.begin()
        elif fault.rule == "run.open":
            self._order.end()
        elif fault.rule == "run.nested":
            self._order.end()
            self._order.take(event)
        events.append(event)


_DONE: Final = {
    "drop": "it is left out",
    "keep": "it is taken as it is meant",
    "supply": "what is missing is supplied",
}


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

    An older producer still sends them; what nobody translates would count as unknown.

    Source: AG-UI 1.1, versioning: retired shapes; `@ag-ui/client` 1.0.0 translates them so.

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
