"""The order of one run's events: repairs, suppression, refusals, closing."""

import copy
import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from ag_ui import core as agui
from ag_ui.encoder import EventEncoder
from ag_ui_validate.pytest_plugin import assert_valid_agui
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from agui_bridge.protocol.lifecycle import Lifecycle, ProtocolViolation, ToolCall
from agui_bridge.protocol.partial_json import completion
from agui_bridge.protocol.sse import encode

Wire = dict[str, Any]
EVENT: TypeAdapter[Any] = TypeAdapter(agui.Event)


def counter() -> Callable[[], str]:
    numbers = itertools.count(1)
    return lambda: f"new-{next(numbers)}"


def lifecycle(**known: Any) -> Lifecycle:
    return Lifecycle(counter(), **known)


def feed(run: Lifecycle, *items: Any) -> list[Wire]:
    return [event for item in items for event in run.feed(item)]


def whole(events: list[Wire], history: list[Wire] | None = None) -> list[Wire]:
    ids = {"threadId": "t", "runId": "r"}
    before: list[Wire] = [{"type": "RUN_STARTED", **ids}]
    if history:
        before.append({"type": "MESSAGES_SNAPSHOT", "messages": history})
    return [*before, *events, {"type": "RUN_FINISHED", **ids}]


def check(
    events: list[Wire], history: list[Wire] | None = None, *, broken_arguments: bool = False
) -> None:
    """Validate a run as the field does: its types, its encoder, its linter."""
    for event in events:
        assert isinstance(event["type"], str)
        assert encode(event).decode() == EventEncoder().encode(EVENT.validate_python(event))
    assert_valid_agui(
        [json.dumps(event) for event in whole(events, history)],
        severity_overrides={"AGUI204": "info"} if broken_arguments else None,
    )


def run(*items: Any, **known: Any) -> list[Wire]:
    """Feed items to a new run, finish it, and check the whole."""
    live = lifecycle(**known)
    events = feed(live, *items) + live.finish()
    check(events)
    return events


def types(events: list[Wire]) -> list[str]:
    return [event["type"] for event in events]


def brief(events: list[Wire]) -> list[tuple[str, ...]]:
    """Show each event as its type and its id."""
    keys = ("messageId", "toolCallId", "stepName", "subagentRunId")
    return [
        (event["type"], next((event[key] for key in keys if key in event), "")) for event in events
    ]


def text_start(message_id: str = "m", **rest: Any) -> agui.TextMessageStartEvent:
    return agui.TextMessageStartEvent(message_id=message_id, **rest)


def text(message_id: str = "m", delta: str = "x", **rest: Any) -> agui.TextMessageContentEvent:
    return agui.TextMessageContentEvent(message_id=message_id, delta=delta, **rest)


def text_end(message_id: str = "m", **rest: Any) -> agui.TextMessageEndEvent:
    return agui.TextMessageEndEvent(message_id=message_id, **rest)


def call_start(call_id: str = "c", **rest: Any) -> agui.ToolCallStartEvent:
    return agui.ToolCallStartEvent(tool_call_id=call_id, tool_call_name="tool", **rest)


def call_args(call_id: str = "c", delta: str = "{}", **rest: Any) -> agui.ToolCallArgsEvent:
    return agui.ToolCallArgsEvent(tool_call_id=call_id, delta=delta, **rest)


def call_end(call_id: str = "c", **rest: Any) -> agui.ToolCallEndEvent:
    return agui.ToolCallEndEvent(tool_call_id=call_id, **rest)


def result(call_id: str = "c", message_id: str = "res", **rest: Any) -> agui.ToolCallResultEvent:
    return agui.ToolCallResultEvent(
        tool_call_id=call_id, message_id=message_id, content="ok", **rest
    )


def subagent(subagent_id: str = "s", **rest: Any) -> agui.SubagentStartedEvent:
    return agui.SubagentStartedEvent(subagent_run_id=subagent_id, name="helper", **rest)


class TestPlainText:
    def test_opens_one_message_and_finishing_closes_it(self) -> None:
        assert run("Hel", "", "lo") == [
            {"type": "TEXT_MESSAGE_START", "messageId": "new-1", "role": "assistant"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "new-1", "delta": "Hel"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "new-1", "delta": "lo"},
            {"type": "TEXT_MESSAGE_END", "messageId": "new-1"},
        ]

    def test_empty_text_opens_nothing(self) -> None:
        assert run("", "") == []

    def test_an_event_of_another_kind_closes_the_message(self) -> None:
        events = run("a", agui.CustomEvent(name="x.y", value=1), "b")
        assert brief(events) == [
            ("TEXT_MESSAGE_START", "new-1"),
            ("TEXT_MESSAGE_CONTENT", "new-1"),
            ("TEXT_MESSAGE_END", "new-1"),
            ("CUSTOM", ""),
            ("TEXT_MESSAGE_START", "new-2"),
            ("TEXT_MESSAGE_CONTENT", "new-2"),
            ("TEXT_MESSAGE_END", "new-2"),
        ]

    def test_goes_into_a_message_that_the_adapter_has_open(self) -> None:
        assert brief(run(text_start("m"), "a", text_end("m"))) == [
            ("TEXT_MESSAGE_START", "m"),
            ("TEXT_MESSAGE_CONTENT", "m"),
            ("TEXT_MESSAGE_END", "m"),
        ]

    def test_never_goes_into_a_users_or_a_subagents_message(self) -> None:
        events = run(
            subagent(), text_start("u", role="user"), text_start("m", subagent_run_id="s"), "a"
        )
        assert ("TEXT_MESSAGE_CONTENT", "new-1") in brief(events)

    def test_is_not_interrupted_by_a_subagent_in_parallel(self) -> None:
        events = run(subagent(), "a", text("m", subagent_run_id="s"), "b")
        assert types(events).count("TEXT_MESSAGE_START") == 2

    def test_nul_and_lone_surrogates_are_replaced(self) -> None:
        events = run("a\x00", "\ud800b", text("new-1", "\x00"))
        assert [e["delta"] for e in events if "delta" in e] == ["a\ufffd", "\ufffdb", "\ufffd"]

    def test_follows_a_chunk_stream_of_text_and_ends_another(self) -> None:
        chunk = agui.TextMessageChunkEvent(message_id="m", delta="a")
        assert types(run(chunk, "b")) == [
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
        ]
        thought = agui.ReasoningMessageChunkEvent(message_id="m", delta="a")
        assert types(run(thought, "b"))[2:4] == ["REASONING_MESSAGE_END", "TEXT_MESSAGE_START"]


class TestSuppliedEvents:
    def test_content_without_start_gets_one(self) -> None:
        assert run(text("m")) == [
            {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"},
            {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        ]
        events = run(agui.ReasoningMessageContentEvent(message_id="m", delta="x"))
        assert events[0] == {
            "type": "REASONING_MESSAGE_START",
            "messageId": "m",
            "role": "reasoning",
        }

    def test_repeated_start_stray_end_and_empty_delta_are_dropped(self) -> None:
        stray = (text_end("no"), call_end("no"), agui.ReasoningEndEvent(message_id="no"))
        events = run(*stray, text_start(), text_start(), text(delta=""), text(), text_end())
        assert types(events) == [
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
        ]

    def test_empty_delta_with_metadata_is_kept_for_its_metadata(self) -> None:
        live = lifecycle()
        (_, event) = feed(live, text(delta="", metadata={"a": 1}))
        assert event["metadata"] == {"a": 1}

    def test_reopened_message_travels_under_a_new_id(self) -> None:
        events = run(text_start(), text(), text_end(), text_start(), text(), text_end(), text())
        assert [i for t, i in brief(events) if t == "TEXT_MESSAGE_START"] == ["m", "new-1", "new-2"]

    def test_message_of_an_earlier_run_is_not_written_into(self) -> None:
        assert brief(run(text("m"), known_messages=["m"]))[0] == ("TEXT_MESSAGE_START", "new-1")

    def test_one_id_for_text_and_reasoning_makes_two_messages(self) -> None:
        thought = agui.ReasoningMessageContentEvent(message_id="0", delta="x")
        events = run(thought, text("0"))
        assert {i for _, i in brief(events)} == {"0", "new-1"}

    def test_reasoning_span_may_share_its_id_and_reopen(self) -> None:
        start, end = (
            agui.ReasoningStartEvent(message_id="0"),
            agui.ReasoningEndEvent(message_id="0"),
        )
        thought = agui.ReasoningMessageContentEvent(message_id="0", delta="x")
        assert {i for _, i in brief(run(start, thought, end, start))} == {"0"}

    def test_reasoning_of_two_owners_under_one_id_is_kept_apart(self) -> None:
        mine = agui.ReasoningStartEvent(message_id="0")
        theirs = agui.ReasoningMessageStartEvent(message_id="0", subagent_run_id="s")
        assert ("REASONING_MESSAGE_START", "new-1") in brief(run(subagent(), mine, theirs))
        assert ("REASONING_START", "new-1") in brief(
            run(subagent(), theirs, agui.ReasoningEndEvent(message_id="0"), mine)
        )

    def test_empty_message_id_is_minted(self) -> None:
        assert brief(run(text("")))[0] == ("TEXT_MESSAGE_START", "new-1")

    def test_metadata_that_json_has_no_word_for_is_converted(self) -> None:
        class Odd:
            def __str__(self) -> str:
                return "odd"

        (event,) = run(agui.CustomEvent(name="a.b", value={"x": {Odd()}, "n": float("nan")}))
        assert event["value"] == {"x": ["odd"], "n": None}


class TestChunks:
    def test_text_chunks_become_one_message(self) -> None:
        events = run(
            agui.TextMessageChunkEvent(message_id="m", role="user", name="Ann", delta="a"),
            agui.TextMessageChunkEvent(delta="b", timestamp=1),
        )
        assert events == [
            {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "user", "name": "Ann"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a"},
            {"type": "TEXT_MESSAGE_CONTENT", "timestamp": 1, "messageId": "m", "delta": "b"},
            {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        ]

    def test_chunk_of_another_id_ends_the_message(self) -> None:
        first, second = (agui.TextMessageChunkEvent(message_id=i, delta="x") for i in "ab")
        assert types(run(first, second)) == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT",
                                             "TEXT_MESSAGE_END"] * 2  # fmt: skip

    def test_first_chunk_without_id_gets_one(self) -> None:
        events = run(agui.ReasoningMessageChunkEvent(delta="x"))
        assert {i for _, i in brief(events)} == {"new-1"}

    def test_tool_chunks_become_a_call(self) -> None:
        events = run(
            agui.ToolCallChunkEvent(
                tool_call_id="c", tool_call_name="tool", parent_message_id="p", metadata={"a": 1}
            ),
            agui.ToolCallChunkEvent(delta='{"a"'),
            agui.ToolCallChunkEvent(tool_call_id="c", delta=":1}"),
        )
        assert events[0] == {
            "type": "TOOL_CALL_START",
            "metadata": {"a": 1},
            "toolCallId": "c",
            "toolCallName": "tool",
            "parentMessageId": "p",
        }
        assert [e["delta"] for e in events if "delta" in e] == ['{"a"', ":1}"]
        assert types(events)[-1] == "TOOL_CALL_END"

    def test_chunk_continues_what_was_started_explicitly(self) -> None:
        chunk = agui.TextMessageChunkEvent(message_id="m", delta="x")
        assert types(run(text_start(), chunk, text(), text_end())) == [
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
        ]
        args = agui.ToolCallChunkEvent(tool_call_id="c", delta="{}")
        assert types(run(call_start(), args, call_end()))[1:] == ["TOOL_CALL_ARGS", "TOOL_CALL_END"]

    def test_chunks_without_id_find_their_subagents_lane(self) -> None:
        opening = agui.TextMessageChunkEvent(message_id="m", delta="a", subagent_run_id="s")
        events = run(subagent(), opening, agui.TextMessageChunkEvent(delta="b"))
        assert events[3] == {
            "type": "TEXT_MESSAGE_CONTENT",
            "subagentRunId": "s",
            "messageId": "m",
            "delta": "b",
        }

    def test_suppressed_calls_chunks_are_suppressed_to_the_last(self) -> None:
        chunk = agui.ToolCallChunkEvent(tool_call_id="c", tool_call_name="tool", delta="{")
        assert run(chunk, agui.ToolCallChunkEvent(delta="}"), known_calls=["c"]) == []

    def test_explicit_end_ends_a_chunk_stream_of_a_subagent(self) -> None:
        chunk = agui.TextMessageChunkEvent(message_id="m", delta="a", subagent_run_id="s")
        assert types(run(subagent(), chunk, text_end("m"), chunk)).count("TEXT_MESSAGE_END") == 2


class TestParents:
    def parent(self, events: list[Wire], call_id: str = "c") -> str:
        (start,) = (
            e for e in events if e["type"] == "TOOL_CALL_START" and e["toolCallId"] == call_id
        )
        return str(start["parentMessageId"])

    def test_call_after_text_belongs_to_its_message(self) -> None:
        events = run(text("m"), text_end("m"), call_start("c"), call_end("c"), call_start("d"))
        assert (self.parent(events, "c"), self.parent(events, "d")) == ("m", "m")

    def test_call_without_text_gets_a_message_that_its_siblings_share(self) -> None:
        events = run(call_start("c"), call_start("d"))
        assert (self.parent(events, "c"), self.parent(events, "d")) == ("new-1", "new-1")

    @pytest.mark.parametrize(
        "between",
        [
            agui.ReasoningMessageContentEvent(message_id="r", delta="x"),
            text_start("u", role="user"),
            agui.ActivitySnapshotEvent(message_id="a", activity_type="t", content={}),
            agui.MessagesSnapshotEvent(messages=[]),
        ],
    )
    def test_another_message_in_between_begins_a_new_one(self, between: Any) -> None:
        assert self.parent(run(text("m"), between, call_start("c"))) == "new-1"

    def test_call_after_a_result_begins_a_new_message(self) -> None:
        events = run(text("m"), call_start("c"), call_end("c"), result("c"), call_start("d"))
        assert self.parent(events, "d") == "new-1"

    def test_explicit_parent_is_kept_and_mapped(self) -> None:
        assert self.parent(run(call_start(parent_message_id="p"))) == "p"
        again = (text("m"), text_end("m"), text_start("m"), call_start(parent_message_id="m"))
        assert self.parent(run(*again)) == "new-1"

    def test_text_may_follow_under_the_parents_id(self) -> None:
        events = run(call_start(parent_message_id="p"), call_end(), text("p"))
        assert ("TEXT_MESSAGE_START", "p") in brief(events)

    def test_parent_that_can_not_carry_the_call_is_replaced(self) -> None:
        thought = agui.ReasoningMessageContentEvent(message_id="r", delta="x")
        assert self.parent(run(thought, call_start(parent_message_id="r"))) == "new-1"
        old = run(call_start(parent_message_id="old"), known_messages=["old"])
        assert self.parent(old) == "new-1"
        theirs = call_start(parent_message_id="m", subagent_run_id="s")
        assert self.parent(run(subagent(), text("m"), theirs)) == "new-1"

    def test_untagged_call_inherits_its_parents_subagent(self) -> None:
        live = lifecycle()
        events = feed(
            live,
            subagent(),
            text("m", subagent_run_id="s"),
            call_start(parent_message_id="m"),
            call_args(subagent_run_id="s"),
        )
        assert events[-2]["subagentRunId"] == "s"
        call = live.call("c")
        assert call is not None and call.subagent_run_id == "s"

    def test_unknown_fields_stay_behind_the_known_ones(self) -> None:
        (start, *_) = run(call_start(vendor=1))
        assert list(start)[-2:] == ["parentMessageId", "vendor"]


class TestToolCalls:
    def test_known_calls_are_not_repeated(self) -> None:
        again = (call_start(), call_args(), call_end())
        live = lifecycle(known_calls=["c"])
        events = feed(live, *again, result("c")) + live.finish()
        assert types(events) == ["TOOL_CALL_RESULT"]
        carrier = {"id": "a", "role": "assistant", "toolCalls": [
            {"id": "c", "type": "function", "function": {"name": "tool", "arguments": ""}}]}  # fmt: skip
        check(events, [carrier])

    def test_a_second_result_is_dropped(self) -> None:
        assert run(result("c"), settled_calls=["c"]) == []
        events = run(call_start(), call_end(), result(), result(message_id="other"))
        assert types(events).count("TOOL_CALL_RESULT") == 1

    def test_repetition_within_the_run_is_dropped(self) -> None:
        once = (call_start(), call_args(), call_end())
        assert run(*once, call_start(), *once) == run(*once)

    def test_result_closes_its_call(self) -> None:
        assert types(run(call_start(), call_args(), result())) == [
            "TOOL_CALL_START",
            "TOOL_CALL_ARGS",
            "TOOL_CALL_END",
            "TOOL_CALL_RESULT",
        ]

    @pytest.mark.parametrize("taken", ["", "m"])
    def test_results_message_id_is_minted_when_it_is_empty_or_taken(self, taken: str) -> None:
        events = run(text("m"), call_start(), call_end(), result(message_id=taken))
        assert next(e for e in events if e["type"] == "TOOL_CALL_RESULT")["messageId"] == "new-1"

    def test_unanswered_calls_are_listed_in_order_with_their_arguments(self) -> None:
        live = lifecycle()
        feed(live, call_start("c"), call_start("b"), call_args("b", "[1"), call_args("b", "]"))
        feed(live, call_start("a"), result("c"))
        assert live.unanswered == (
            ToolCall("b", "tool", "[1]", None),
            ToolCall("a", "tool", "", None),
        )
        assert live.call("b") == ToolCall("b", "tool", "[1]", None)
        assert live.call("no") is None

    def test_arguments_that_broke_off_are_completed_however_the_call_ends(self) -> None:
        broken = (call_start(), call_args(delta='{"a": [tr'))
        for live, ending in ((lifecycle(), "cancel"), (lifecycle(), "finish")):
            events = feed(live, *broken) + getattr(live, ending)()
            check(events)
            assert live.unanswered[0].arguments == '{"a": [true]}'
        assert run(*broken, call_end()) == events

    def test_arguments_that_nothing_completes_are_left(self) -> None:
        live = lifecycle()
        feed(live, call_start(), call_args(delta="{]"))
        assert types(live.cancel()) == ["TOOL_CALL_END"]

    def test_snapshot_makes_its_calls_and_results_known(self) -> None:
        function = agui.FunctionCall(name="tool", arguments="{}")
        snapshot = agui.MessagesSnapshotEvent(
            messages=[
                agui.AssistantMessage(
                    id="a", tool_calls=[agui.ToolCall(id="c", function=function)]
                ),
                agui.ToolMessage(id="t", tool_call_id="c", content="ok"),
            ]
        )
        events = run("x", snapshot, call_start(), call_args(), result(), text("a"))
        assert types(events)[2:] == [
            "TEXT_MESSAGE_END",
            "MESSAGES_SNAPSHOT",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
        ]
        assert events[-1]["messageId"] == "new-2"

    def test_snapshot_of_this_runs_own_messages_stops_nothing(self) -> None:
        function = agui.FunctionCall(name="tool", arguments="")
        snapshot = agui.MessagesSnapshotEvent(
            messages=[
                agui.AssistantMessage(id="p", tool_calls=[agui.ToolCall(id="c", function=function)])
            ]
        )
        chunk = agui.TextMessageChunkEvent(message_id="m", delta="x", subagent_run_id="s")
        events = run(subagent(), chunk, call_start(parent_message_id="p"), snapshot, call_args())
        assert types(events)[3:] == [
            "TOOL_CALL_START",
            "TEXT_MESSAGE_END",
            "MESSAGES_SNAPSHOT",
            "TOOL_CALL_ARGS",
            "TOOL_CALL_END",
            "SUBAGENT_FINISHED",
        ]


class TestAttribution:
    def test_activities_keep_their_id_unless_it_is_a_messages(self) -> None:
        snapshot = agui.ActivitySnapshotEvent(message_id="m", activity_type="t", content={})
        delta = agui.ActivityDeltaEvent(message_id="m", activity_type="t", patch=[])
        assert {i for _, i in brief(run(snapshot, delta, known_messages=["m"]))} == {"m"}
        assert {i for _, i in brief(run(text("m"), snapshot, delta)[3:])} <= {"new-1", "m"}

    def test_activities_of_one_id_keep_their_owner_until_one_replaces_them(self) -> None:
        def snapshot(**rest: Any) -> agui.ActivitySnapshotEvent:
            return agui.ActivitySnapshotEvent(
                message_id="a", activity_type="t", content={}, subagent_run_id="s", **rest
            )

        delta = agui.ActivityDeltaEvent(
            message_id="a", activity_type="t", patch=[], subagent_run_id="s"
        )
        mine = agui.ActivitySnapshotEvent(message_id="a", activity_type="t", content={})
        run(subagent(), mine, snapshot(), delta)
        live = lifecycle()
        feed(live, subagent(), mine, snapshot(replace=False))
        with pytest.raises(ProtocolViolation):
            live.feed(delta)

    def test_steps_are_scoped_to_their_owner(self) -> None:
        step = {"step_name": "x"}
        theirs = {**step, "subagent_run_id": "s"}
        events = run(
            subagent(),
            agui.StepStartedEvent(**step),
            agui.StepStartedEvent(**theirs),
            agui.StepFinishedEvent(**step),
            agui.StepStartedEvent(**step),
            agui.StepFinishedEvent(**theirs),
        )
        assert [e.get("subagentRunId") for e in events if e["type"] == "STEP_FINISHED"] == [
            None,
            "s",
            None,
        ]

    def test_encrypted_values_follow_their_message_and_call(self) -> None:
        def value(subtype: Any, entity: str, **rest: Any) -> agui.ReasoningEncryptedValueEvent:
            return agui.ReasoningEncryptedValueEvent(
                subtype=subtype, entity_id=entity, encrypted_value="v", **rest
            )

        events = run(
            subagent(),
            text("m"),
            value("message", "m", subagent_run_id="s"),
            call_start("c", subagent_run_id="s"),
            value("tool-call", "c", subagent_run_id="s"),
            known_messages=["m"],
        )
        first, second = (e for e in events if e["type"] == "REASONING_ENCRYPTED_VALUE")
        assert (first["entityId"], first.get("subagentRunId")) == ("new-1", None)
        assert (second["entityId"], second.get("subagentRunId")) == ("c", "s")

    def test_a_closing_subagent_closes_what_it_owns(self) -> None:
        events = run(
            subagent(parent_message_id="m"),
            agui.StepStartedEvent(step_name="one", subagent_run_id="s"),
            text("m", subagent_run_id="s"),
            agui.SubagentFinishedEvent(subagent_run_id="s"),
        )
        assert types(events)[-3:] == ["TEXT_MESSAGE_END", "STEP_FINISHED", "SUBAGENT_FINISHED"]
        assert events[-2]["subagentRunId"] == "s"

    def test_adapters_interrupt_ids_are_not_passed_on(self) -> None:
        outcome = agui.SubagentFinishedSuspendedOutcome(interrupt_ids=["native"])
        live = lifecycle()
        feed(live, subagent())
        (event,) = live.feed(agui.SubagentFinishedEvent(subagent_run_id="s", outcome=outcome))
        assert event["outcome"] == {"type": "suspended"}
        assert live.suspend({"s": ["i"]}) == []

    def test_deltas_of_a_subagent_keep_their_tag(self) -> None:
        live = lifecycle()
        feed(live, subagent(), text_start("m", subagent_run_id="s"))
        (event,) = live.feed(text("m", subagent_run_id="s"))
        assert list(event.items())[1] == ("subagentRunId", "s")


class TestEnds:
    def opened(self) -> Lifecycle:
        live = lifecycle()
        feed(
            live,
            subagent("s"),
            subagent("s2", parent_subagent_run_id="s"),
            subagent("s3"),
            agui.StepStartedEvent(step_name="one"),
            agui.StepStartedEvent(step_name="one", subagent_run_id="s2"),
            call_start("c", subagent_run_id="s2"),
            agui.ReasoningStartEvent(message_id="span"),
            agui.ReasoningMessageStartEvent(message_id="r"),
            text_start("m"),
        )
        return live

    def test_finish_closes_everything_in_order_and_once(self) -> None:
        live = self.opened()
        assert brief(live.finish()) == [
            ("TEXT_MESSAGE_END", "m"),
            ("REASONING_MESSAGE_END", "r"),
            ("REASONING_END", "span"),
            ("TOOL_CALL_END", "c"),
            ("STEP_FINISHED", "one"),
            ("STEP_FINISHED", "one"),
            ("SUBAGENT_FINISHED", "s3"),
            ("SUBAGENT_FINISHED", "s2"),
            ("SUBAGENT_FINISHED", "s"),
        ]
        assert live.finish() == []

    def test_suspend_suspends_the_asking_subagent_and_those_above(self) -> None:
        live = self.opened()
        events = [e for e in live.suspend({"s2": ["i1", "i2"]}) if "SUBAGENT" in e["type"]]
        assert [e.get("outcome") for e in events] == [
            None,
            {"type": "suspended", "interruptIds": ["i1", "i2"]},
            {"type": "suspended"},
        ]

    @pytest.mark.parametrize(("ending", "message"), [("cancel", "stopped"), ("fail", "failed")])
    def test_cancel_and_fail_report_the_subagents_as_not_finished(
        self, ending: str, message: str
    ) -> None:
        events = getattr(self.opened(), ending)()
        assert events[-1] == {"type": "SUBAGENT_ERROR", "subagentRunId": "s", "message": message}

    @pytest.mark.parametrize("closed", [False, True])
    def test_suspend_refuses_a_subagent_that_is_not_active(self, closed: bool) -> None:
        live = self.opened()
        if closed:
            feed(live, agui.SubagentFinishedEvent(subagent_run_id="s3"))
        before = copy.deepcopy(vars(live)["_state"])
        with pytest.raises(ProtocolViolation):
            live.suspend({"s3" if closed else "unknown": ["i"]})
        assert vars(live)["_state"] == before

    def test_results_may_still_be_given_after_the_end(self) -> None:
        live = lifecycle()
        events = feed(live, call_start()) + live.cancel() + feed(live, result())
        check(events)

    def test_text_after_the_end_opens_a_new_message(self) -> None:
        live = lifecycle()
        check(feed(live, "a") + live.finish() + feed(live, "b") + live.finish())


RAISES: list[tuple[str, list[Any], Any]] = [
    ("run started", [], agui.RunStartedEvent(thread_id="t", run_id="r")),
    ("run finished", [], agui.RunFinishedEvent(thread_id="t", run_id="r")),
    ("run error", [], agui.RunErrorEvent(message="x")),
    ("not an event", [], 42),
    ("unknown type", [], agui.BaseEvent.model_construct(type="NEWS")),
    ("arguments without a call", [], call_args("no")),
    ("arguments after the end", [call_start(), call_end()], call_args()),
    ("result without a call", [], result("no")),
    ("first tool chunk without id", [], agui.ToolCallChunkEvent(delta="x")),
    ("first tool chunk without name", [], agui.ToolCallChunkEvent(tool_call_id="x", delta="x")),
    ("subagent not started", [], text("m", subagent_run_id="s")),
    (
        "subagent closed",
        [subagent(), agui.SubagentFinishedEvent(subagent_run_id="s")],
        agui.CustomEvent(name="x", value=1, subagent_run_id="s"),
    ),
    ("subagent twice", [subagent()], subagent()),
    ("subagent of no parent", [], subagent(parent_subagent_run_id="no")),
    ("subagent finished unopened", [], agui.SubagentFinishedEvent(subagent_run_id="s")),
    ("subagent error unopened", [], agui.SubagentErrorEvent(subagent_run_id="s", message="x")),
    ("step not started", [], agui.StepFinishedEvent(step_name="x")),
    (
        "step of another owner",
        [subagent(), agui.StepStartedEvent(step_name="x", subagent_run_id="s")],
        agui.StepFinishedEvent(step_name="x"),
    ),
    ("step twice", [agui.StepStartedEvent(step_name="x")], agui.StepStartedEvent(step_name="x")),
    ("text of another owner", [subagent(), "a", text_start("m")], text("m", subagent_run_id="s")),
    ("call of another owner", [subagent(), call_start()], call_args(subagent_run_id="s")),
    (
        "activity of another owner",
        [
            subagent(),
            agui.ActivitySnapshotEvent(message_id="a", activity_type="t", content={}),
        ],
        agui.ActivityDeltaEvent(message_id="a", activity_type="t", patch=[], subagent_run_id="s"),
    ),
    (
        "chunk of several lanes",
        [
            subagent("s"),
            subagent("s2"),
            agui.TextMessageChunkEvent(message_id="m", delta="a", subagent_run_id="s"),
            agui.TextMessageChunkEvent(message_id="m2", delta="a", subagent_run_id="s2"),
        ],
        agui.TextMessageChunkEvent(delta="b"),
    ),
]


@pytest.mark.parametrize(("before", "event"), [r[1:] for r in RAISES], ids=[r[0] for r in RAISES])
def test_what_can_not_be_repaired_raises_and_changes_nothing(before: list[Any], event: Any) -> None:
    live, reference = lifecycle(), lifecycle()
    events, expected = feed(live, *before), feed(reference, *before)
    state = copy.deepcopy(vars(live)["_state"])
    with pytest.raises(ProtocolViolation):
        live.feed(event)
    assert vars(live)["_state"] == state
    # Nor has an id been minted, or a message been forgotten.
    events += feed(live, "after") + live.finish()
    expected += feed(reference, "after") + reference.finish()
    assert events == expected
    check(events)


IDS = st.sampled_from(["a", "b", "c"])
OWNERS = st.sampled_from([None, None, None, "s", "s2"])
DELTAS = st.sampled_from(["", "x", "\x00", "é"])
ARGS = st.sampled_from(["", '{"a', "é", '"'])


def made(event: Callable[..., Any], **fields: Any) -> st.SearchStrategy[Any]:
    return st.builds(event, **fields)


def owned(event: Callable[..., Any], **fields: Any) -> st.SearchStrategy[Any]:
    return st.builds(event, subagent_run_id=OWNERS, **fields)


MAYBE = st.none() | IDS
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
    made(agui.MessagesSnapshotEvent, messages=st.just([])),
)

HISTORY: list[Wire] = [
    {"id": "c", "role": "assistant", "toolCalls": [
        {"id": i, "type": "function", "function": {"name": "tool", "arguments": "{}"}}
        for i in ("b", "c")]},
    {"id": "t", "role": "tool", "toolCallId": "c", "content": "ok"},
]  # fmt: skip


@settings(max_examples=400, deadline=None)
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
    answered = any(event["type"] == "TOOL_CALL_RESULT" for event in events)
    check(events, HISTORY if resumed else None, broken_arguments=hopeless or answered)
