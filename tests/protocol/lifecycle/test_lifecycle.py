"""The order of one run's events: what is supplied, closed and refused."""

import copy
from typing import Any, cast

import pytest
from ag_ui import core as agui

from agui_bridge.errors import ProtocolViolation
from agui_bridge.protocol.lifecycle.lifecycle import Lifecycle
from tests.support.runs import (
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

    def test_goes_on_there_after_a_chunked_call(self) -> None:
        chunk = agui.ToolCallChunkEvent(tool_call_id="c", tool_call_name="tool", delta="{}")
        events = run(text_start("m"), chunk, "a")
        assert brief(events)[3:5] == [("TOOL_CALL_END", "c"), ("TEXT_MESSAGE_CONTENT", "m")]

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
        assert types(run(thought, "b"))[3:6] == [
            "REASONING_MESSAGE_END",
            "REASONING_END",
            "TEXT_MESSAGE_START",
        ]


class TestSuppliedEvents:
    def test_content_without_start_gets_one(self) -> None:
        assert run(text("m")) == [
            {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"},
            {"type": "TEXT_MESSAGE_END", "messageId": "m"},
        ]
        events = run(agui.ReasoningMessageContentEvent(message_id="m", delta="x"))
        assert events == [
            {"type": "REASONING_START", "messageId": "m"},
            {"type": "REASONING_MESSAGE_START", "messageId": "m", "role": "reasoning"},
            {"type": "REASONING_MESSAGE_CONTENT", "messageId": "m", "delta": "x"},
            {"type": "REASONING_MESSAGE_END", "messageId": "m"},
            {"type": "REASONING_END", "messageId": "m"},
        ]

    def test_reasoning_that_stands_in_a_span_gets_no_other(self) -> None:
        events = run(
            agui.ReasoningStartEvent(message_id="r"),
            agui.ReasoningMessageContentEvent(message_id="m", delta="x"),
            agui.ReasoningMessageEndEvent(message_id="m"),
            agui.ReasoningMessageContentEvent(message_id="n", delta="y"),
            agui.ReasoningEndEvent(message_id="r"),
        )
        spans = [e for e in events if e["type"] in ("REASONING_START", "REASONING_END")]
        assert spans == [
            {"type": "REASONING_START", "messageId": "r"},
            {"type": "REASONING_END", "messageId": "r"},
        ]

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

    @pytest.mark.parametrize(
        ("value", "sent"),
        [
            ("\x00", "\ufffd"),
            ("\udc00", "\ufffd"),
            ("\\u0000 NaN", "\\u0000 NaN"),
            ([float("inf"), 1.5], [None, 1.5]),
            ({1: {"a\x00": (1, 2)}}, {"1": {"a\ufffd": [1, 2]}}),
        ],
    )
    def test_values_that_clients_or_stores_refuse_are_replaced(self, value: Any, sent: Any) -> None:
        (event,) = run(agui.CustomEvent(name="a.b", value=value))
        assert event["value"] == sent

    def test_metadata_that_json_has_no_word_for_is_converted(self) -> None:
        class Odd:
            def __str__(self) -> str:
                return "odd"

        (event,) = run(agui.CustomEvent(name="a.b", value={"x": {Odd()}, "n": float("nan")}))
        assert event["value"] == {"x": ["odd"], "n": None}


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

    @pytest.mark.parametrize("ending", ["cancel", "fail"])
    def test_a_call_that_broke_off_before_its_first_argument_has_none(self, ending: str) -> None:
        live = Lifecycle(lambda: "new")
        feed(live, agui.ToolCallStartEvent(tool_call_id="c", tool_call_name="tool"))
        assert [(e["type"], e.get("delta")) for e in getattr(live, ending)()] == [
            ("TOOL_CALL_ARGS", "{}"),
            ("TOOL_CALL_END", None),
        ]

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
    ("unknown type", [], agui.BaseEvent.model_construct(type=cast(Any, "NEWS"))),
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
