"""Chunks, tool calls and their parents, attribution."""

from typing import Any

import pytest
from ag_ui import core as agui

from agui_bridge.errors import ProtocolViolation
from agui_bridge.protocol.lifecycle.lifecycle import StreamedCall
from tests.support.runs import (
    Wire,
    brief,
    call_args,
    call_end,
    call_start,
    check,
    feed,
    lifecycle,
    result,
    run,
    subagent,
    text,
    text_end,
    text_start,
    types,
)


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
        users = (text_start("u", role="user"), call_start(parent_message_id="u"))
        assert self.parent(run(*users)) == "new-1"
        events = run(call_start("c", parent_message_id="u"), text_start("u", role="user"))
        assert ("TEXT_MESSAGE_START", "new-1") in brief(events)
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

    def test_untagged_call_inherits_from_a_message_that_was_renamed(self) -> None:
        text_of_s = text("m", subagent_run_id="s")
        events = run(subagent(), text_of_s, call_start(parent_message_id="m"), known_messages=["m"])
        (start,) = (e for e in events if e["type"] == "TOOL_CALL_START")
        assert (start["subagentRunId"], start["parentMessageId"]) == ("s", "new-1")

    def test_unknown_fields_stay_behind_the_known_ones(self) -> None:
        (start, *_) = run(call_start(vendor=1))
        assert list(start)[-2:] == ["parentMessageId", "vendor"]


class TestToolCalls:
    def test_known_calls_are_not_repeated(self) -> None:
        again = (call_start(), call_args(), call_end())
        live = lifecycle(known_calls=["c"])
        events = feed(live, *again, result("c")) + live.finish()
        assert types(events) == ["TOOL_CALL_RESULT"]
        function = {"name": "tool", "arguments": ""}
        call = {"id": "c", "type": "function", "function": function}
        carrier = {"id": "a", "role": "assistant", "toolCalls": [call]}
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
            StreamedCall("b", "tool", "[1]", None, open=True),
            StreamedCall("a", "tool", "", None, open=True),
        )
        assert live.call("b") == StreamedCall("b", "tool", "[1]", None, open=True)
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

    def test_snapshot_that_makes_something_anothers_ends_it_first(self) -> None:
        function = agui.FunctionCall(name="tool", arguments="")
        carrier = agui.AssistantMessage(
            id="p", tool_calls=[agui.ToolCall(id="c", function=function)]
        )
        activity = agui.ActivityMessage(id="a", activity_type="t", content={})
        user = agui.UserMessage(id="m", content="x")
        own = {"subagent_run_id": "s"}
        events = run(
            subagent(),
            agui.ActivitySnapshotEvent(message_id="a", activity_type="t", content={}, **own),
            text_start("m"),
            call_start(parent_message_id="p", **own),
            agui.MessagesSnapshotEvent(messages=[carrier, user, activity]),
            agui.ActivitySnapshotEvent(message_id="x", activity_type="t", content={}),
            text("m"),
            call_start("d", parent_message_id="m"),
        )
        assert brief(events)[4:9] == [
            ("TOOL_CALL_END", "c"),
            ("TEXT_MESSAGE_END", "m"),
            ("MESSAGES_SNAPSHOT", ""),
            ("ACTIVITY_SNAPSHOT", "x"),
            ("TEXT_MESSAGE_START", "new-1"),
        ]
        assert [e["parentMessageId"] for e in events if "parentMessageId" in e] == ["p", "new-1"]

    def test_activity_that_a_snapshot_brings_may_be_updated(self) -> None:
        brought = agui.ActivityMessage(id="a", activity_type="t", content={})
        update = agui.ActivitySnapshotEvent(message_id="a", activity_type="t", content={})
        events = run(agui.MessagesSnapshotEvent(messages=[brought]), update)
        assert events[-1]["messageId"] == "a"


class TestAttribution:
    def test_activities_keep_their_id_unless_it_is_a_messages(self) -> None:
        snapshot = agui.ActivitySnapshotEvent(message_id="m", activity_type="t", content={})
        delta = agui.ActivityDeltaEvent(message_id="m", activity_type="t", patch=[])
        known = {"known_messages": ["m"], "known_activities": ["m"]}
        assert {i for _, i in brief(run(snapshot, delta, **known))} == {"m"}
        assert {i for _, i in brief(run(snapshot, delta, known_messages=["m"]))} == {"new-1"}
        events = run(text("m"), snapshot, delta)
        assert [i for t, i in brief(events) if "ACTIVITY" in t] == ["new-1", "new-1"]

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
        assert (first["entityId"], second["entityId"]) == ("new-1", "c")
        # Their entity says whose they are: the official client refuses a tag that differs.
        assert "subagentRunId" not in first and "subagentRunId" not in second

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
