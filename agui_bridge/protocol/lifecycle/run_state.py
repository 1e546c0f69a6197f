"""What one run has open, and what may come next: the deciding half of `lifecycle`.

Nothing here changes anything: `RunState.objection` says why an event can't be taken, so
that `lifecycle` can refuse it before it has touched its state.
"""

from dataclasses import dataclass, field

from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.lifecycle.event_rules import KINDS, Rule

__all__ = ["Call", "Lane", "Owner", "RunState", "Stream", "Subagent"]

Owner = str | None
"""The subagentRunId of what an event belongs to; None is the run itself."""

Lane = tuple[str, str]
"""The kind and id of what an owner's chunks, or plain text, are streamed into."""


@dataclass(slots=True)
class Stream:
    """An open text message, reasoning message or reasoning span."""

    wire_id: str
    owner: Owner
    role: str


@dataclass(slots=True)
class Call:
    """A tool call that this run started."""

    id: str
    name: str
    owner: Owner
    parts: list[str] = field(default_factory=list)
    open: bool = True
    repeated: bool = False
    """It was started again after its end: the repetition is not passed on."""


@dataclass(slots=True)
class Subagent:
    """A subagent's invocation."""

    parent: Owner
    open: bool = True
    suspended: bool = False


@dataclass(slots=True)
class RunState:
    """All that the order of one run's events depends on."""

    known_calls: set[str]
    """Calls in the thread's history, whose repetition is not passed on."""
    settled: set[str]
    """Calls that have a result, from the history or from this run."""
    relayed: bool = False
    """Whether events may name subagents that were never announced."""
    streams: dict[str, dict[str, Stream]] = field(
        default_factory=lambda: {"text": {}, "reasoning": {}, "span": {}}
    )
    """What is open, by kind and by the id that the adapter uses."""
    calls: dict[str, Call] = field(default_factory=dict)
    steps: dict[tuple[Owner, str], None] = field(default_factory=dict)
    subagents: dict[str, Subagent] = field(default_factory=dict)
    activities: dict[str, Owner] = field(default_factory=dict)
    lanes: dict[Owner, Lane] = field(default_factory=dict)
    turns: dict[Owner, str] = field(default_factory=dict)
    """The assistant message that the next tool call of an owner belongs to."""

    def speaking(self) -> Stream | None:
        """Return the message that plain text goes to: the run's own, latest, still open."""
        if (lane := self.lanes.get(None)) is not None:
            candidates = [self.streams["text"].get(lane[1])] if lane[0] == "text" else []
        else:
            candidates = [*reversed(self.streams["text"].values())]
        for stream in candidates:
            if stream is not None and stream.owner is None and stream.role == "assistant":
                return stream
        return None

    def objection(self, rule: Rule, wire: WireEvent) -> str | None:
        """Return why an event can't be taken, or None when it can."""
        if rule.kind == "subagent":
            return self._subagent_objection(rule, wire)
        owner = wire.get("subagentRunId")
        if owner is not None and not self.may_speak(owner):
            return f"{wire['type']}: subagent {owner!r} is not active in this run"
        if rule.kind in self.streams:
            stream = self.streams[rule.kind].get(wire[KINDS[rule.kind].key])
            return _foreign(wire, stream.owner) if stream else None
        if rule.kind == "call":
            return self._call_objection(rule, wire)
        if rule.kind == "step":
            return self._step_objection(rule, wire)
        if wire["type"] == "ACTIVITY_DELTA" and wire["messageId"] in self.activities:
            return _foreign(wire, self.activities[wire["messageId"]])
        return None

    def is_active(self, owner: Owner) -> bool:
        """Tell whether a subagent was started in this run and has not closed."""
        return owner in self.subagents and self.subagents[owner].open

    def may_speak(self, owner: Owner) -> bool:
        """Tell whether events may name a subagent."""
        return self.relayed or self.is_active(owner)

    def _subagent_objection(self, rule: Rule, wire: WireEvent) -> str | None:
        subagent_id, parent = wire["subagentRunId"], wire.get("parentSubagentRunId")
        if rule.verb == "close":
            if self.is_active(subagent_id):
                return None
            return f"{wire['type']}: subagent {subagent_id!r} is not active in this run"
        if subagent_id in self.subagents:
            return f"SUBAGENT_STARTED: subagent {subagent_id!r} was already started in this run"
        if parent is not None and parent not in self.subagents:
            return f"SUBAGENT_STARTED: its parent {parent!r} was not started in this run"
        return None

    def _call_objection(self, rule: Rule, wire: WireEvent) -> str | None:
        call_id = wire["toolCallId"]
        call = self.calls.get(call_id)
        if call_id in self.known_calls:
            return None
        if rule.verb == "settle":
            return None if call else f"TOOL_CALL_RESULT: there is no tool call {call_id!r}"
        if call is None:
            if rule.verb == "append":
                return f"TOOL_CALL_ARGS: tool call {call_id!r} was not started"
            if rule.verb == "chunk" and not wire.get("toolCallName"):
                return f"TOOL_CALL_CHUNK: the first one of {call_id!r} must have a toolCallName"
            return None
        if rule.verb == "append" and not call.open and not call.repeated:
            return f"TOOL_CALL_ARGS: tool call {call_id!r} has ended"
        return _foreign(wire, call.owner)

    def _step_objection(self, rule: Rule, wire: WireEvent) -> str | None:
        name = wire["stepName"]
        active = (wire.get("subagentRunId"), name) in self.steps
        if rule.verb == "open":
            return f"STEP_STARTED: step {name!r} is already active" if active else None
        if active or self.relayed:
            # A relayed one may have been closed with its subagent.
            return None
        return f"STEP_FINISHED: its owner has not started step {name!r}"

    def locate_chunk(self, kind: str, wire: WireEvent) -> WireEvent | str:
        """Give a chunk the id and the owner that it left out.

        Returns:
            The chunk with its id (empty for a message still to be named), or why it is
            not clear which stream it continues.
        """
        key = KINDS[kind].key
        named, owner = wire.get(key), wire.get("subagentRunId")
        if owner is None:
            lanes = [
                owner
                for owner, lane in self.lanes.items()
                if lane[0] == kind and named in (None, lane[1])
            ]
            if len(lanes) > 1 and None not in lanes:
                return f"{wire['type']} without {key}: several subagents have one open"
            owner = lanes[0] if len(lanes) == 1 else None
        if named is None:
            lane = self.lanes.get(owner)
            named = lane[1] if lane is not None and lane[0] == kind else ""
            if kind == "call" and not named:
                return "TOOL_CALL_CHUNK: the first one must have a toolCallId"
        located = {**wire, key: named}
        return located if owner is None else {**located, "subagentRunId": owner}


def _foreign(wire: WireEvent, owner: Owner) -> str | None:
    """Object to an event whose owner is not that of the thing it continues."""
    tag = wire.get("subagentRunId")
    if tag is None or tag == owner:
        return None
    return (
        f"{wire['type']}: it names subagent {tag!r}, but belongs to {owner or 'the run itself'!r}"
    )
