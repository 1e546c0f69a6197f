"""Whatever an adapter yields, in whatever order."""

import copy
from collections.abc import Callable
from typing import Any

from ag_ui import core as agui
from hypothesis import given, settings, strategies as st

from agui_bridge.errors import ProtocolViolation
from agui_bridge.protocol.lifecycle.partial_json import completion
from tests.support.runs import (
    Wire,
    call_args,
    call_end,
    call_start,
    check,
    lifecycle,
    result,
    subagent,
)

IDS = st.sampled_from(["a", "b", "c"])
OWNERS = st.sampled_from([None, None, None, "s", "s2"])
DELTAS = st.sampled_from(["", "x", "\x00", "é"])
ARGS = st.sampled_from(["", '{"a', "é", '"'])


def made(event: Callable[..., Any], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    # Not st.builds: it would fill the aliases that the models have beside these names.
    return st.fixed_dictionaries(fields).map(lambda values: event(**values))


def owned(event: Callable[..., Any], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return made(event, subagent_run_id=OWNERS, **fields)


MAYBE = st.none() | IDS
MESSAGES = st.one_of(
    made(agui.UserMessage, id=IDS, content=st.just("hi")),
    made(agui.AssistantMessage, id=IDS, content=st.just("ok")),
    made(agui.ToolMessage, id=IDS, tool_call_id=IDS, content=st.just("ok")),
)
ITEMS = st.one_of(
    DELTAS,
    owned(agui.TextMessageStartEvent, message_id=IDS, role=st.sampled_from([None, "user"])),
    owned(agui.TextMessageContentEvent, message_id=IDS, delta=DELTAS),
    owned(agui.TextMessageEndEvent, message_id=IDS),
    owned(agui.TextMessageChunkEvent, message_id=MAYBE, delta=st.none() | DELTAS),
    owned(agui.ReasoningStartEvent, message_id=IDS),
    owned(agui.ReasoningMessageStartEvent, message_id=IDS),
    owned(agui.ReasoningMessageContentEvent, message_id=IDS, delta=DELTAS),
    owned(agui.ReasoningMessageEndEvent, message_id=IDS),
    owned(agui.ReasoningMessageChunkEvent, message_id=MAYBE, delta=DELTAS),
    owned(agui.ReasoningEndEvent, message_id=IDS),
    owned(call_start, call_id=IDS, parent_message_id=MAYBE),
    owned(call_args, call_id=IDS, delta=ARGS),
    owned(call_end, call_id=IDS),
    owned(
        agui.ToolCallChunkEvent,
        tool_call_id=MAYBE,
        tool_call_name=st.sampled_from([None, "tool"]),
        delta=st.sampled_from([None, '["', "x"]),
    ),
    owned(result, call_id=IDS, message_id=IDS),
    owned(agui.StepStartedEvent, step_name=IDS),
    owned(agui.StepFinishedEvent, step_name=IDS),
    made(subagent, subagent_id=st.sampled_from(["s", "s2"]), parent_subagent_run_id=OWNERS),
    made(agui.SubagentFinishedEvent, subagent_run_id=st.sampled_from(["s", "s2"])),
    made(
        agui.SubagentErrorEvent, subagent_run_id=st.sampled_from(["s", "s2"]), message=st.just("x")
    ),
    owned(agui.CustomEvent, name=st.just("a.b"), value=st.just(float("nan"))),
    owned(
        agui.ActivitySnapshotEvent,
        message_id=IDS,
        activity_type=st.just("t"),
        content=st.just({}),
        replace=st.none() | st.booleans(),
    ),
    owned(agui.ActivityDeltaEvent, message_id=IDS, activity_type=st.just("t"), patch=st.just([])),
    owned(
        agui.ReasoningEncryptedValueEvent,
        subtype=st.sampled_from(["message", "tool-call"]),
        entity_id=IDS,
        encrypted_value=st.just("v"),
    ),
    made(
        agui.MessagesSnapshotEvent,
        messages=st.lists(MESSAGES, max_size=3, unique_by=lambda message: message.id),
    ),
)

HISTORY: list[Wire] = [
    {"id": "c", "role": "assistant", "toolCalls": [
        {"id": i, "type": "function", "function": {"name": "tool", "arguments": "{}"}}
        for i in ("b", "c")]},
    {"id": "t", "role": "tool", "toolCallId": "c", "content": "ok"},
]  # fmt: skip


@settings(max_examples=400)
@given(
    items=st.lists(ITEMS, max_size=30),
    ending=st.sampled_from(["finish", "cancel", "fail", "suspend"]),
    resumed=st.booleans(),
)
def test_whatever_an_adapter_yields_the_run_is_valid(
    items: list[Any], ending: str, resumed: bool
) -> None:
    known = {"known_calls": ["b", "c"], "settled_calls": ["c"], "known_messages": ["c", "t"]}
    live = lifecycle(**known) if resumed else lifecycle()
    events: list[Wire] = []
    for item in items:
        before = copy.deepcopy(vars(live)["_state"])
        try:
            events += live.feed(item)
        except ProtocolViolation:
            assert vars(live)["_state"] == before
    events += live.suspend({}) if ending == "suspend" else getattr(live, ending)()
    # Only arguments that no suffix makes valid, such as "}", may stay invalid.
    hopeless = any(completion(call.arguments) is None for call in live.unanswered)
    results = {"TOOL_CALL_RESULT", "MESSAGES_SNAPSHOT"}
    answered = any(event["type"] in results for event in events)
    check(events, HISTORY if resumed else None, broken_arguments=hopeless or answered)
