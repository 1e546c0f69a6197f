"""For every rule a stream that breaks it and no other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from agui_bridge.protocol.verifier.verifier import Mode, Verifier

__all__ = ["BROKEN", "Event", "judged"]

Event = dict[str, Any]

STARTED: Final[Event] = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISHED: Final[Event] = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
FAILED: Final[Event] = {"type": "RUN_ERROR", "message": "failed"}


def text(verb: str, named: str = "m", **members: Any) -> Event:
    """An event of a message."""
    role = {"role": "assistant"} if verb == "START" else {}
    delta = {"delta": "x"} if verb == "CONTENT" else {}
    return {"type": f"TEXT_MESSAGE_{verb}", "messageId": named, **role, **delta, **members}


def call(verb: str, named: str = "c", **members: Any) -> Event:
    """An event of a call."""
    tool = {"toolCallName": "f"} if verb == "START" else {}
    delta = {"delta": "{}"} if verb == "ARGS" else {}
    return {"type": f"TOOL_CALL_{verb}", "toolCallId": named, **tool, **delta, **members}


def step(verb: str, **members: Any) -> Event:
    """An event of a step."""
    return {"type": f"STEP_{verb}", "stepName": "look", **members}


def subagent(verb: str, named: str = "s", **members: Any) -> Event:
    """An event of a sub-agent's run."""
    name = {"name": "helper"} if verb == "STARTED" else {}
    return {"type": f"SUBAGENT_{verb}", "subagentRunId": named, **name, **members}


def chunk(kind: str, **members: Any) -> Event:
    """A chunk."""
    return {"type": f"{kind}_CHUNK", "delta": "x", **members}


def within(*events: Event) -> list[Event]:
    """A run of these events."""
    return [STARTED, *events, FINISHED]


BROKEN: Final[Mapping[str, Sequence[Sequence[Event]]]] = {
    "shape": [within({"type": "CUSTOM", "name": 1, "value": 1})],
    "run.first": [[CUSTOM := {"type": "CUSTOM", "name": "n", "value": 1}, FINISHED]],
    "run.nested": [[STARTED, STARTED, FINISHED]],
    "run.finished": [[*within(), CUSTOM], [*within(), FINISHED]],
    "run.failed": [[STARTED, FAILED, CUSTOM], [STARTED, FAILED, FAILED]],
    "run.open": [
        within(text("START")),
        within(call("START")),
        within(step("STARTED")),
        within(subagent("STARTED")),
        within({"type": "REASONING_START", "messageId": "m"}),
        within({"type": "REASONING_MESSAGE_START", "messageId": "m", "role": "reasoning"}),
    ],
    "run.unended": [[], [STARTED], [STARTED, CUSTOM]],
    "start.twice": [
        within(text("START"), text("START"), text("END")),
        within(call("START"), call("START"), call("END")),
    ],
    "content.unopened": [
        within(text("CONTENT")),
        within({"type": "REASONING_MESSAGE_CONTENT", "messageId": "m", "delta": "x"}),
    ],
    "arguments.unopened": [
        within(call("ARGS")),
        within(call("START"), call("END"), call("ARGS")),
    ],
    "end.unopened": [
        within(text("END")),
        within(call("END")),
        within({"type": "REASONING_END", "messageId": "m"}),
    ],
    "step.twice": [within(step("STARTED"), step("STARTED"), step("FINISHED"))],
    "step.unstarted": [
        within(step("FINISHED")),
        within(step("STARTED"), step("FINISHED", subagentRunId="s"), step("FINISHED")),
    ],
    "owner": [
        within(text("START"), text("CONTENT", subagentRunId="s"), text("END")),
        within(text("START", subagentRunId="s"), text("END"), text("START", subagentRunId="t")),
        within(call("START"), call("END", subagentRunId="s")),
        within(text("START"), text("END"), call("START", parentMessageId="m", subagentRunId="s")),
        within(
            {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "m", "role": "assistant"}]},
            text("START", subagentRunId="s"),
        ),
        within(
            {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "x", "content": {}},
            {
                "type": "ACTIVITY_DELTA",
                "messageId": "a",
                "activityType": "x",
                "patch": [],
                "subagentRunId": "s",
            },
        ),
        within(
            text("START"),
            text("END"),
            {
                "type": "REASONING_ENCRYPTED_VALUE",
                "subtype": "message",
                "entityId": "m",
                "encryptedValue": "v",
                "subagentRunId": "s",
            },
        ),
        within(
            chunk("TEXT_MESSAGE", messageId="m"),
            chunk("TEXT_MESSAGE", messageId="m", subagentRunId="s"),
        ),
    ],
    "subagent.twice": [
        within(subagent("STARTED"), subagent("STARTED"), subagent("FINISHED")),
        within(subagent("STARTED"), subagent("FINISHED"), subagent("STARTED")),
    ],
    "subagent.unstarted": [
        within(subagent("FINISHED")),
        within(subagent("ERROR", message="failed")),
    ],
    "subagent.parent": [within(subagent("STARTED", parentSubagentRunId="p"), subagent("FINISHED"))],
    "chunk.unnamed": [within(chunk("TEXT_MESSAGE")), within(chunk("REASONING_MESSAGE"))],
    "chunk.call": [
        within(chunk("TOOL_CALL", toolCallName="f")),
        within(chunk("TOOL_CALL", toolCallId="c")),
    ],
    "chunk.ambiguous": [
        within(
            chunk("TEXT_MESSAGE", messageId="m", subagentRunId="s"),
            chunk("TEXT_MESSAGE", messageId="n", subagentRunId="t"),
            chunk("TEXT_MESSAGE"),
        )
    ],
    "chunk.differs": [
        within(
            chunk("TEXT_MESSAGE", messageId="m", role="user"),
            chunk("TEXT_MESSAGE", role="assistant"),
        ),
        within(chunk("TEXT_MESSAGE", messageId="m"), chunk("TEXT_MESSAGE", name="ann")),
        within(
            chunk("TOOL_CALL", toolCallId="c", toolCallName="f"),
            chunk("TOOL_CALL", parentMessageId="m"),
        ),
    ],
    "chunk.tool": [
        within(
            chunk("TOOL_CALL", toolCallId="c", toolCallName="f"),
            chunk("TOOL_CALL", toolCallName="g"),
        )
    ],
}


def judged(
    mode: Mode, stream: Sequence[Event], verifier: type[Verifier] = Verifier
) -> tuple[list[Event], list[str], list[str]]:
    """What a stream becomes, the rules that it breaks, and the notes.

    Args:
        mode: the verifier's.
        stream: its events; after the first fault the rest is read in `strict` alone.
        verifier: which one.
    """
    one = verifier(mode, lambda: "minted")
    out, rules, notes = list[Event](), list[str](), list[str]()
    for event in stream:
        events, said, faults = one.take(event)
        out += events
        notes += said
        rules += [fault.rule for fault in faults]
        if faults and mode != "strict":
            return out, rules, notes
    if unended := one.close():
        rules.append(unended.rule)
    return out, rules, notes
