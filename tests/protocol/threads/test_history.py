"""Messages folded from events, as the official client 1.0.0 holds them, and their storing."""

import copy

import pytest
from hypothesis import given, strategies as st

from agui_bridge.protocol.threads.history import STRIDE, History, StoredMessage
from tests.support.folds import (
    CALLER,
    USER,
    Wire,
    call,
    call_args,
    call_end,
    call_start,
    fold,
    is_stored,
    result,
    text,
    text_end,
    text_start,
)


class TestText:
    def test_deltas_become_one_message(self) -> None:
        history = fold(
            text_start(role="user", name="Ann", subagentRunId="s"), text("a"), text("b"), text_end()
        )
        assert history.messages == [
            {"id": "m", "role": "user", "content": "ab", "name": "Ann", "subagentRunId": "s"}
        ]

    def test_role_defaults_to_assistant_and_reasoning(self) -> None:
        reasoning = {"type": "REASONING_MESSAGE_START", "messageId": "r"}
        more = {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r", "delta": "hm"}
        end = {"type": "REASONING_MESSAGE_END", "messageId": "r"}
        assert fold(text_start(), reasoning, more, end).messages == [
            {"id": "m", "role": "assistant", "content": ""},
            {"id": "r", "role": "reasoning", "content": "hm"},
        ]

    def test_metadata_of_every_event_is_merged(self) -> None:
        history = fold(
            text_start(metadata={"a": 1, "b": 1}),
            text("x", metadata={"b": 2}),
            text_end(metadata={"c": 3}),
        )
        (message,) = history.messages
        assert message["metadata"] == {"a": 1, "b": 2, "c": 3}
        assert message["content"] == "x"

    def test_text_is_appended_to_a_message_that_is_there(self) -> None:
        history = fold(text_start("u"), text("!", "u"), messages=(USER,))
        assert history.messages == [{**USER, "content": "hi!"}]
        parts = {**USER, "content": [{"type": "text", "text": "x"}]}
        assert fold(text("!", "u"), messages=(parts,)).messages[0]["content"] == "!"

    def test_nothing_is_written_into_activities_or_nowhere(self) -> None:
        activity = {"id": "m", "role": "activity", "activityType": "t", "content": {}}
        events = (text_start(), text("x"), text_end(), text("x", "no"), text_end("no"))
        assert fold(*events, messages=(activity,)).messages == [activity]

    @given(st.lists(st.text()), st.sets(st.integers(0, 20)))
    def test_reading_in_between_changes_nothing(self, deltas: list[str], reads: set[int]) -> None:
        history = fold(text_start())
        seen: list[Wire] = []
        for number, delta in enumerate(deltas):
            history.apply(text(delta))
            if number in reads:
                seen.append(copy.deepcopy(history.messages[0]))
                assert history.messages[0] == seen[-1]
        assert history.messages[0]["content"] == "".join(deltas)

    def test_what_was_handed_out_stays_as_it_was(self) -> None:
        history = fold(text_start(), text("a"), call_start("c", "m"), call_args("{"))
        before, copied = history.messages, copy.deepcopy(history.messages)
        for event in (text("b"), call_args("}"), result("c", "t"), text_end(metadata={"a": 1})):
            history.apply(event)
        assert before == copied


class TestToolCalls:
    def test_call_with_a_known_parent_is_added_to_it(self) -> None:
        history = fold(
            text_start(), text_end(), call_start("c", "m"), call_args("{"), call_args("}")
        )
        assert history.messages == [
            {"id": "m", "role": "assistant", "content": "", "toolCalls": [call("c", "{}")]}
        ]

    def test_call_with_an_unknown_parent_creates_it(self) -> None:
        history = fold(call_start("c", "p", subagentRunId="s", metadata={"a": 1}), call_end())
        assert history.messages == [
            {
                "id": "p",
                "role": "assistant",
                "toolCalls": [call("c", metadata={"a": 1})],
                "subagentRunId": "s",
            }
        ]

    @pytest.mark.parametrize("parent", [None, "", "u"])
    def test_call_without_a_parent_that_can_carry_it_creates_its_own(
        self, parent: str | None
    ) -> None:
        history = fold(call_start("c", parent), messages=(USER,))
        assert history.messages[1]["id"] == "c"

    def test_call_that_is_there_is_renamed_and_goes_on(self) -> None:
        history = fold(
            call_start("c", toolCallName="other", metadata={"a": 1}),
            call_args("!", metadata={"b": 1}),
            call_end(metadata={"a": 2}),
            messages=(CALLER,),
        )
        (first, second) = history.messages[0]["toolCalls"]
        assert first["function"] == {"name": "other", "arguments": "{}!"}
        assert first["metadata"] == {"a": 2, "b": 1}
        assert second == call("d", "{}")

    def test_call_that_is_there_may_be_started_without_anything_new(self) -> None:
        assert fold(call_start("c"), messages=(CALLER,)).messages == [CALLER]

    def test_parallel_calls_keep_their_arguments_apart(self) -> None:
        history = fold(call_start("c", "p"), call_start("d", "p"))
        for delta, call_id in (("[1", "c"), ("[2", "d"), ("]", "c"), ("]", "d")):
            history.apply(call_args(delta, call_id))
        assert history.messages[0]["toolCalls"] == [call("c", "[1]"), call("d", "[2]")]

    def test_results_stand_behind_their_message_in_order_of_arrival(self) -> None:
        history = fold(
            result("d", "td"),
            result("c", "tc", subagentRunId="s", metadata={"a": 1}),
            messages=(CALLER, USER),
        )
        assert [m["id"] for m in history.messages] == ["a", "td", "tc", "u"]
        assert history.messages[2] == {
            "id": "tc",
            "toolCallId": "c",
            "role": "tool",
            "content": "ok",
            "subagentRunId": "s",
            "metadata": {"a": 1},
        }
        assert [m.position for m in history.take_dirty()] == [STRIDE + 1, STRIDE + 2]

    def test_result_of_an_unknown_call_stands_at_the_end(self) -> None:
        assert [m["id"] for m in fold(result("x", "t"), messages=(CALLER,)).messages] == ["a", "t"]

    def test_unknown_calls_are_passed_over(self) -> None:
        assert fold(call_args("x"), call_end()).messages == []

    def test_results_without_room_move_what_follows(self) -> None:
        tight = [StoredMessage("a", 5, CALLER), StoredMessage("u", 6, USER)]
        history = History(tight)
        history.apply(result("c", "t"))
        assert [(m.id, m.position) for m in history.take_dirty()] == [("t", 6), ("u", STRIDE)]

    def test_encrypted_values_are_kept(self) -> None:
        def value(subtype: str, entity: str) -> Wire:
            return {
                "type": "REASONING_ENCRYPTED_VALUE",
                "subtype": subtype,
                "entityId": entity,
                "encryptedValue": "v",
            }

        activity = {"id": "x", "role": "activity", "activityType": "t", "content": {}}
        events = [value("tool-call", "c"), value("message", "u"), value("message", "x")]
        events += [value("tool-call", "no"), value("message", "no")]
        caller, user, untouched = fold(*events, messages=(CALLER, USER, activity)).messages
        assert caller["toolCalls"][0] == call("c", "{}", encryptedValue="v")
        assert user == {**USER, "encryptedValue": "v"}
        assert untouched == activity

    def test_the_kind_of_an_encrypted_value_goes_with_that_value(self) -> None:
        value = {"type": "REASONING_ENCRYPTED_VALUE", "encryptedValue": "v"}
        typed = {"encryptedValueType": "acme.signature"}
        call_value = {**value, "subtype": "tool-call", "entityId": "c"}
        user_value = {**value, "subtype": "message", "entityId": "u"}
        first = [{**call_value, **typed}, {**user_value, **typed}]
        caller, user = fold(*first, messages=(CALLER, USER)).messages
        assert caller["toolCalls"][0] == call("c", "{}", encryptedValue="v", **typed)
        assert user == {**USER, "encryptedValue": "v", **typed}
        caller, user = fold(*first, call_value, user_value, messages=(CALLER, USER)).messages
        assert caller["toolCalls"][0] == call("c", "{}", encryptedValue="v")
        assert user == {**USER, "encryptedValue": "v"}


class TestStoring:
    def test_positions_go_on_after_the_last_message(self) -> None:
        odd = [StoredMessage("u", 12_345, USER)]
        history = History(odd)
        for event in (text_start("m"), text_end("m"), text_start("n"), text_end("n")):
            history.apply(event)
        assert [m.position for m in history.take_dirty()] == [20_000, 30_000]
        (first,) = fold(text_start(), text_end()).take_dirty()
        assert first.position == STRIDE

    def test_finished_messages_are_taken_once_and_open_ones_later(self) -> None:
        history = fold(text_start("m"), text("a"), text_start("n"), text_end("n"))
        assert [m.id for m in history.take_dirty()] == ["n"]
        assert history.take_dirty() == []
        history.apply(text_end("m"))
        (message,) = history.take_dirty()
        assert message.message == {"id": "m", "role": "assistant", "content": "a"}

    def test_a_message_is_open_until_its_last_call_ends(self) -> None:
        history = fold(call_start("c", "p"), call_start("d", "p"), call_end("c"))
        assert history.take_dirty() == []
        history.apply(call_end("d"))
        assert [m.id for m in history.take_dirty()] == ["p"]

    def test_open_messages_are_taken_as_far_as_they_have_come(self) -> None:
        history = fold(text_start(), text("a"))
        (message,) = history.take_dirty(include_open=True)
        assert message.message["content"] == "a" and "metadata" not in message.message
        assert history.take_dirty(include_open=True) == []
        history.apply(text("b"))
        assert history.take_dirty(include_open=True)[0].message["content"] == "ab"

    def test_stopped_messages_are_marked_for_good(self) -> None:
        history = fold(
            text_start("m", metadata={"k": 1}), text("a"), text_start("n"), text_end("n")
        )
        (stopped,) = history.truncate_open()
        assert stopped.message["metadata"] == {"k": 1, "agui_bridge": {"truncated": True}}
        history.apply(text_end())
        assert history.take_dirty()[0] == stopped
        assert "metadata" not in history.messages[1]
        assert history.truncate_open() == []

    def test_what_could_not_be_stored_is_taken_again(self) -> None:
        history = fold(text_start("m"), text_end("m"), text_start("n"))
        assert not is_stored(history)
        taken = history.take_dirty()
        assert is_stored(history)
        history.put_back([*taken, StoredMessage("gone", 1, USER)])
        assert not is_stored(history)
        assert history.take_dirty() == taken

    def test_who_found_all_stored_is_told_of_the_next_event_once(self) -> None:
        history, told = fold(text_start("m"), text_end("m")), list[int]()
        assert not history.is_stored(lambda: told.append(1))
        history.apply(text_start("n"))
        history.take_dirty()
        assert history.is_stored(lambda: told.append(2))
        history.apply({"type": "CUSTOM", "name": "a.b", "value": 1})
        assert told == []
        history.apply(text("a", "n"))
        history.apply(text_end("n"))
        assert told == [2]
        assert not history.is_stored(lambda: told.append(3))
        history.apply(text_start("o"))
        assert told == [2]

    def test_client_messages_are_added_once_results_to_their_calls(self) -> None:
        history = fold(messages=(CALLER, USER))
        answer = {"id": "t", "role": "tool", "toolCallId": "c", "content": "ok"}
        again = {"id": "u2", "role": "user", "content": "more"}
        for message in (again, answer, {**USER, "content": "forged"}):
            history.add(message)
        assert history.messages == [CALLER, answer, USER, again]
        assert [m.id for m in history.take_dirty()] == ["t", "u2"]
