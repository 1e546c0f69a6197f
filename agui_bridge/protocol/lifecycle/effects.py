"""What events change in a run, and what is sent for them: the acting half of `lifecycle`.

Nothing here refuses anything: `lifecycle` had no reason to.
"""

from collections.abc import Callable, Sequence
from typing import Any

from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.lifecycle.event_rules import (
    FIELDS,
    KINDS,
    EventRule,
    delta_event,
    end_event,
    start_event,
)
from agui_bridge.protocol.lifecycle.partial_json import completion
from agui_bridge.protocol.lifecycle.run_state import (
    Call,
    Lane,
    MessageIds,
    Owner,
    RunState,
    Stream,
    Subagent,
)


class Effects:
    """Applies events to a run's state; every method appends to ``out`` what to send."""

    def __init__(self, state: RunState, ids: MessageIds, mint: Callable[[], str]) -> None:
        """Work on a run's state and message ids, with a source of new ids."""
        self._state = state
        self._ids = ids
        self._mint = mint
        self._spans = state.streams["span"]

    def open_text(self, out: list[WireEvent]) -> None:
        """Open the message that plain text is streamed into."""
        named = self._mint()
        self._open_stream("text", start_event("text", {"messageId": named}), out)
        self._state.lanes[None] = ("text", named)

    def close_owned(self, owned: Callable[[Owner], bool], out: list[WireEvent]) -> None:
        """Close the messages, calls and steps of some owners, in the order of KINDS."""
        state = self._state
        for owner in [owner for owner in state.lanes if owned(owner)]:
            del state.lanes[owner]
        for kind, streams in state.streams.items():
            for named in [named for named, stream in streams.items() if owned(stream.owner)]:
                self._end_stream(kind, named, None, out)
        for call in state.calls.values():
            if call.open and owned(call.owner):
                self._end_call(call, None, out)
        for owner, name in [step for step in reversed(state.steps) if owned(step[0])]:
            del state.steps[owner, name]
            out.append(end_event("step", name, owner))

    def leave_lane(self, owner: Owner, out: list[WireEvent]) -> None:
        """End what an owner's chunks, or plain text, were streamed into."""
        kind, named = self._state.lanes.pop(owner, ("", ""))
        if named in self._state.streams.get(kind, ()):
            self._end_stream(kind, named, None, out)
        elif kind == "call" and (call := self._state.calls.get(named)) and call.open:
            self._end_call(call, None, out)

    def _forget_lane(self, lane: Lane) -> None:
        for owner in [owner for owner, open_lane in self._state.lanes.items() if open_lane == lane]:
            del self._state.lanes[owner]

    def handle(self, rule: EventRule, wire: WireEvent, out: list[WireEvent]) -> None:
        """Do what an event of some type does; a lane that it breaks has been left."""
        match rule.verb, rule.kind:
            case "pass", _:
                self._pass_on(wire, out)
            case "chunk", _:
                self._take_chunk(rule.kind, wire, out)
            case "settle", _:
                self._settle(wire, out)
            case "open", "call":
                self._open_call(wire, out)
            case "append", "call":
                self._append_call(wire, out)
            case "close", "call":
                call = self._state.calls.get(wire["toolCallId"])
                if call is not None and call.open:
                    self._end_call(call, wire, out)
            case verb, "step":
                step = (wire.get("subagentRunId"), wire["stepName"])
                if verb == "open":
                    self._state.steps[step] = None
                    out.append(wire)
                elif step in self._state.steps:
                    del self._state.steps[step]
                    out.append(wire)
            case "open", "subagent":
                self._open_subagent(wire, out)
            case "close", "subagent":
                self._close_subagent(wire, out)
            case "open", _:
                self._open_stream(rule.kind, wire, out)
            case "append", _:
                self._append_stream(rule.kind, wire, out)
            case _:
                self._close_stream(rule.kind, wire, out)

    def _take_chunk(self, kind: str, wire: WireEvent, out: list[WireEvent]) -> None:
        state, key = self._state, KINDS[kind].key
        owner, named = wire.get("subagentRunId"), wire[key] or self._mint()
        started_here: tuple[str, ...] = ()
        if state.lanes.get(owner) != (kind, named):
            self.leave_lane(owner, out)
            call = state.calls.get(named) if kind == "call" else None
            if not (named in state.streams.get(kind, ()) or (call and call.open)):
                state.lanes[owner] = (kind, named)
                started_here = ("rawEvent", "metadata")
                self.handle(EventRule("open", kind), start_event(kind, {**wire, key: named}), out)
        content: WireEvent = {"type": KINDS[kind].content}
        kept = FIELDS[KINDS[kind].content][1:]
        content |= {k: wire[k] for k in kept if k in wire and k not in started_here}
        content |= {key: named, "delta": wire.get("delta", "")}
        self.handle(EventRule("append", kind), content, out)

    # Text messages, reasoning messages, reasoning spans.

    def _open_stream(self, kind: str, wire: WireEvent, out: list[WireEvent]) -> None:
        streams, named = self._state.streams[kind], wire["messageId"]
        if named in streams:
            return
        owner = wire.get("subagentRunId")
        role = wire.get("role", KINDS[kind].role)
        wire_id = self._ids.take(kind, named, owner, role=role)
        streams[named] = Stream(wire_id, owner, role)
        if kind == "reasoning" and not any(s.owner == owner for s in self._spans.values()):
            # AG-UI documents reasoning as messages within a span, which most frameworks don't have.
            span_id = self._ids.take("span", wire_id, owner)
            self._spans[wire_id] = Stream(span_id, owner, "", supplied=True)
            out.append(start_event("span", _tagged(owner, {"messageId": span_id})))
        if role == "assistant":
            self._state.turns[owner] = wire_id
        elif kind != "span":
            self._state.turns.pop(owner, None)
        out.append({**wire, "messageId": wire_id})

    def _append_stream(self, kind: str, wire: WireEvent, out: list[WireEvent]) -> None:
        if _says_nothing(wire):
            return
        streams, named = self._state.streams[kind], wire["messageId"]
        if named not in streams:
            kept = ("timestamp", "subagentRunId", "messageId")
            first = {key: wire[key] for key in kept if key in wire}
            self._open_stream(kind, start_event(kind, first), out)
        out.append({**wire, "messageId": streams[named].wire_id})

    def _close_stream(self, kind: str, wire: WireEvent, out: list[WireEvent]) -> None:
        named = wire["messageId"]
        if named in self._state.streams[kind]:
            self._forget_lane((kind, named))
            self._end_stream(kind, named, wire, out)

    def _end_stream(
        self, kind: str, named: str, wire: WireEvent | None, out: list[WireEvent]
    ) -> None:
        """End a message or span, and the span that was supplied for it alone."""
        stream = self._state.streams[kind].pop(named)
        end = end_event(kind, stream.wire_id, stream.owner)
        out.append(end if wire is None else {**wire, "messageId": stream.wire_id})
        if kind == "reasoning" and (span := self._spans.get(stream.wire_id)) and span.supplied:
            self._end_stream("span", stream.wire_id, None, out)

    # Tool calls.

    def _open_call(self, wire: WireEvent, out: list[WireEvent]) -> None:
        state, call_id = self._state, wire["toolCallId"]
        if call_id in state.known_calls:
            return
        if (call := state.calls.get(call_id)) is not None:
            call.repeated = not call.open
            return
        named, owner = wire.get("parentMessageId"), wire.get("subagentRunId")
        if owner is None and named:
            # A tool call belongs to the message that carries it.
            carrier = self._ids.owner(self._ids.find(named, ("text",)))
            owner = carrier if state.may_speak(carrier) else None
        parent = self._ids.parent(named, owner) or state.turns.get(owner)
        if parent is None:
            parent = self._ids.create_parent(self._mint(), owner)
        state.turns[owner] = parent
        state.calls[call_id] = Call(call_id, wire["toolCallName"], owner)
        tagged = wire if owner is None else {**wire, "subagentRunId": owner}
        start = start_event("call", {**tagged, "parentMessageId": parent})
        out.append(start | {key: value for key, value in wire.items() if key not in start})

    def _append_call(self, wire: WireEvent, out: list[WireEvent]) -> None:
        call = self._state.calls.get(wire["toolCallId"])
        if call is not None and call.open and not _says_nothing(wire):
            call.parts.append(wire["delta"])
            out.append(wire)

    def _end_call(self, call: Call, wire: WireEvent | None, out: list[WireEvent]) -> None:
        """End a call, completing arguments that broke off."""
        call.open = False
        self._forget_lane(("call", call.id))
        if missing := completion("".join(call.parts)):
            call.parts.append(missing)
            out.append(delta_event("call", call.id, call.owner, missing))
        out.append(wire or end_event("call", call.id, call.owner))

    def _settle(self, wire: WireEvent, out: list[WireEvent]) -> None:
        state, call_id = self._state, wire["toolCallId"]
        if call_id in state.settled:
            return
        owner = wire.get("subagentRunId")
        call = state.calls.get(call_id)
        if call is not None and call.open:
            self._end_call(call, None, out)
        state.settled.add(call_id)
        # The model's next step is a new assistant message.
        state.turns.pop(call.owner if call else owner, None)
        out.append({**wire, "messageId": self._ids.take("result", wire["messageId"], owner)})

    # Subagents, and what opens nothing.

    def _open_subagent(self, wire: WireEvent, out: list[WireEvent]) -> None:
        self._state.subagents[wire["subagentRunId"]] = Subagent(wire.get("parentSubagentRunId"))
        if "parentMessageId" in wire:
            wire["parentMessageId"] = self._ids.find(wire["parentMessageId"])
        out.append(wire)

    def _close_subagent(self, wire: WireEvent, out: list[WireEvent]) -> None:
        subagent = self._state.subagents[wire["subagentRunId"]]
        self.close_owned(lambda owner: owner == wire["subagentRunId"], out)
        subagent.open = False
        if wire.get("outcome", {}).get("type") == "suspended":
            subagent.suspended = True
            # The adapter can only have named native ids, which mean nothing to a client.
            wire["outcome"] = {"type": "suspended"}
        out.append(wire)

    def _pass_on(self, wire: WireEvent, out: list[WireEvent]) -> None:
        owner = wire.get("subagentRunId")
        match wire["type"]:
            case "MESSAGES_SNAPSHOT":
                self._learn(wire["messages"], out)
            case "ACTIVITY_SNAPSHOT":
                named = wire["messageId"]
                if named not in self._state.activities:
                    self._state.turns.pop(owner, None)
                    self._ids.take("activity", named, owner)
                if named not in self._state.activities or wire.get("replace") is not False:
                    self._state.activities[named] = owner
                wire["messageId"] = self._ids.find(named, ("activity",))
            case "ACTIVITY_DELTA":
                wire["messageId"] = self._ids.find(wire["messageId"], ("activity",))
            case "REASONING_ENCRYPTED_VALUE":
                if wire["subtype"] == "message":
                    wire["entityId"] = self._ids.find(wire["entityId"])
                # It belongs to whom its entity does; a tag can only contradict that.
                wire.pop("subagentRunId", None)
        out.append(wire)

    def _learn(self, messages: Sequence[dict[str, Any]], out: list[WireEvent]) -> None:
        """Take a snapshot's messages as history, ending what it makes another's first."""
        state = self._state
        for owner in list(state.lanes):
            self.leave_lane(owner, out)
        state.turns.clear()
        for message in messages:
            message_id, role = message["id"], message["role"]
            owner = message.get("subagentRunId")
            for kind, streams in state.streams.items():
                for named, stream in list(streams.items()):
                    same = stream.owner == owner and (kind == "span" or stream.role == role)
                    if stream.wire_id == message_id and not same and named in streams:
                        self._end_stream(kind, named, None, out)
            for named in state.activities:
                if self._ids.find(named, ("activity",)) == message_id:
                    state.activities[named] = owner
            self._ids.know(message_id, role, owner)
            if role == "tool":
                state.settled.add(message["toolCallId"])
            for carried in message.get("toolCalls", ()):
                call = state.calls.get(carried["id"])
                if call is None:
                    state.known_calls.add(carried["id"])
                elif call.open and call.owner != owner:
                    self._end_call(call, None, out)


def _tagged(owner: Owner, wire: WireEvent) -> WireEvent:
    return wire if owner is None else {"subagentRunId": owner, **wire}


def _says_nothing(wire: WireEvent) -> bool:
    return not wire["delta"] and "metadata" not in wire and "rawEvent" not in wire
