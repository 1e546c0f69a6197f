"""Why an adapter's event can't be taken: the deciding half of `lifecycle`.

Nothing here changes anything, so that `lifecycle` refuses an event before it has touched its state.
"""

from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.lifecycle.event_rules import KINDS, EventRule
from agui_bridge.protocol.lifecycle.run_state import Owner, RunState

__all__ = ["event_refusal", "locate_chunk"]


def event_refusal(state: RunState, rule: EventRule, wire: WireEvent) -> str | None:
    """Return why an event can't be taken, or None when it can."""
    if rule.kind == "subagent":
        return _subagent_refusal(state, rule, wire)
    owner = wire.get("subagentRunId")
    if owner is not None and not state.may_speak(owner):
        return f"{wire['type']}: subagent {owner!r} is not active in this run"
    if rule.kind in state.streams:
        stream = state.streams[rule.kind].get(wire[KINDS[rule.kind].key])
        return _foreign(wire, stream.owner) if stream else None
    if rule.kind == "call":
        return _call_refusal(state, rule, wire)
    if rule.kind == "step":
        return _step_refusal(state, rule, wire)
    if wire["type"] == "ACTIVITY_DELTA" and wire["messageId"] in state.activities:
        return _foreign(wire, state.activities[wire["messageId"]])
    return None


def locate_chunk(state: RunState, kind: str, wire: WireEvent) -> WireEvent | str:
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
            for owner, lane in state.lanes.items()
            if lane[0] == kind and named in (None, lane[1])
        ]
        if len(lanes) > 1 and None not in lanes:
            return f"{wire['type']} without {key}: several subagents have one open"
        owner = lanes[0] if len(lanes) == 1 else None
    if named is None:
        lane = state.lanes.get(owner)
        named = lane[1] if lane is not None and lane[0] == kind else ""
        if kind == "call" and not named:
            return "TOOL_CALL_CHUNK: the first one must have a toolCallId"
    located = {**wire, key: named}
    return located if owner is None else {**located, "subagentRunId": owner}


def _subagent_refusal(state: RunState, rule: EventRule, wire: WireEvent) -> str | None:
    subagent_id, parent = wire["subagentRunId"], wire.get("parentSubagentRunId")
    if rule.verb == "close":
        if state.is_active(subagent_id):
            return None
        return f"{wire['type']}: subagent {subagent_id!r} is not active in this run"
    if subagent_id in state.subagents:
        return f"SUBAGENT_STARTED: subagent {subagent_id!r} was already started in this run"
    if parent is not None and parent not in state.subagents:
        return f"SUBAGENT_STARTED: its parent {parent!r} was not started in this run"
    return None


def _call_refusal(state: RunState, rule: EventRule, wire: WireEvent) -> str | None:
    call_id = wire["toolCallId"]
    call = state.calls.get(call_id)
    if call_id in state.known_calls:
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


def _step_refusal(state: RunState, rule: EventRule, wire: WireEvent) -> str | None:
    name = wire["stepName"]
    active = (wire.get("subagentRunId"), name) in state.steps
    if rule.verb == "open":
        return f"STEP_STARTED: step {name!r} is already active" if active else None
    if active or state.relayed:
        # A relayed one may have been closed with its subagent.
        return None
    return f"STEP_FINISHED: its owner has not started step {name!r}"


def _foreign(wire: WireEvent, owner: Owner) -> str | None:
    """Object to an event whose owner is not that of the thing it continues."""
    tag = wire.get("subagentRunId")
    if tag is None or tag == owner:
        return None
    return (
        f"{wire['type']}: it names subagent {tag!r}, but belongs to {owner or 'the run itself'!r}"
    )
