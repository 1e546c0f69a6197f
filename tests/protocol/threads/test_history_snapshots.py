"""Activities, state and snapshots, as the official client 1.0.0 applies them."""

from typing import Any

import pytest

from agui_bridge.protocol.json_patch import PatchError
from tests.support.folds import (
    CALLER,
    USER,
    Wire,
    call_args,
    call_end,
    fold,
    is_stored,
    result,
    text,
    text_end,
    text_start,
)


def activity(content: Wire, **rest: Any) -> Wire:
    return {
        "type": "ACTIVITY_SNAPSHOT",
        "messageId": "x",
        "activityType": "plan",
        "content": content,
        **rest,
    }


class TestActivities:
    PATCH: Wire = {
        "type": "ACTIVITY_DELTA",
        "messageId": "x",
        "activityType": "plan2",
        "patch": [{"op": "add", "path": "/b", "value": 2}],
        "metadata": {"m": 1},
    }

    def test_snapshots_replace_and_deltas_patch(self) -> None:
        history = fold(
            activity({"old": 1}, subagentRunId="s", metadata={"k": 1}),
            activity({"a": 1}),
            activity({"ignored": 1}, replace=False, metadata={"l": 1}),
            self.PATCH,
        )
        assert history.messages == [
            {
                "id": "x",
                "role": "activity",
                "activityType": "plan2",
                "content": {"a": 1, "b": 2},
                "metadata": {"k": 1, "l": 1, "m": 1},
            }
        ]

    def test_snapshot_takes_the_place_of_another_message_unless_told_not_to(self) -> None:
        message = {**USER, "id": "x", "metadata": {"gone": 1}}
        replaced = fold(activity({}), messages=(message,)).messages
        assert replaced == [{"id": "x", "role": "activity", "activityType": "plan", "content": {}}]
        assert fold(activity({}, replace=False), messages=(message,)).messages == [message]

    def test_replaced_message_takes_its_calls_along(self) -> None:
        carrier = {**CALLER, "id": "x"}
        history = fold(activity({}), call_args("!"), call_end(), messages=(carrier,))
        assert history.messages[0]["role"] == "activity"
        assert "toolCalls" not in history.messages[0]

    def test_delta_of_no_activity_is_passed_over(self) -> None:
        assert fold(self.PATCH, messages=({**USER, "id": "x"},)).messages[0]["content"] == "hi"
        assert fold(self.PATCH).messages == []

    def test_delta_that_does_not_fit_changes_nothing(self) -> None:
        history = fold(activity({"a": 1}))
        before = history.messages
        bad = {**self.PATCH, "patch": [{"op": "remove", "path": "/no"}]}
        with pytest.raises(PatchError):
            history.apply(bad)
        assert history.messages == before


class TestState:
    def test_snapshot_and_deltas(self) -> None:
        history = fold({"type": "CUSTOM", "name": "a.b", "value": 1}, state={"a": 1})
        assert (history.state, is_stored(history)) == ({"a": 1}, True)
        delta = {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/b", "value": 2}]}
        history.apply(delta)
        assert (history.state, is_stored(history)) == ({"a": 1, "b": 2}, False)
        assert history.take_state() == {"a": 1, "b": 2}
        assert is_stored(history)
        history.apply({"type": "STATE_SNAPSHOT", "snapshot": [1]})
        assert (history.state, is_stored(history)) == ([1], False)
        assert fold(delta).state == {"b": 2}

    def test_delta_that_does_not_fit_changes_nothing(self) -> None:
        history = fold(state={"a": 1})
        with pytest.raises(PatchError):
            history.apply({"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/b"}]})
        assert (history.state, is_stored(history)) == ({"a": 1}, True)


class TestSnapshots:
    REASONING: Wire = {"id": "r", "role": "reasoning", "content": "hm"}
    PLAN: Wire = {"id": "p", "role": "activity", "activityType": "plan", "content": {}}

    def snapshot(self, *messages: Wire, **rest: Any) -> Wire:
        return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages), **rest}

    def test_reconciles_by_id(self) -> None:
        new = {"id": "n", "role": "assistant", "content": "new"}
        changed = {**USER, "content": "changed"}
        history = fold(self.snapshot(new, changed), messages=(CALLER, USER))
        assert history.messages == [changed, new]
        assert [m.id for m in history.take_dirty()] == ["u", "n"]
        assert history.take_dropped() == ["a"]
        assert history.take_dropped() == []

    def test_what_was_written_anew_is_told_with_what_is_stored_of_it(self) -> None:
        changed = {**USER, "content": "changed"}
        history = fold(self.snapshot(changed, CALLER), messages=(CALLER, USER))
        taken = history.take_dirty()
        rewritten = history.take_rewritten(taken)
        assert rewritten == [(USER, changed)]
        assert history.take_rewritten(taken) == []
        # It could not be stored, and meanwhile it is told anew once more.
        history.apply(self.snapshot({**USER, "content": "again"}, CALLER))
        history.put_back(taken, rewritten)
        assert history.take_rewritten(history.take_dirty()) == [
            (USER, {**USER, "content": "again"})
        ]

    @pytest.mark.parametrize(
        "said",
        [
            [{**USER, "metadata": {"a": 1}}],
            [{**USER, "content": "changed"}, USER],
            [{**USER, "content": "changed"}, None],
        ],
        ids=["other metadata", "as it was", "taken out"],
    )
    def test_what_says_the_same_in_the_end_was_not_written_anew(
        self, said: list[Wire | None]
    ) -> None:
        history = fold(
            *(self.snapshot(*(one for one in (it,) if one)) for it in said), messages=(USER,)
        )
        assert history.take_rewritten(history.take_dirty()) == []

    def test_what_is_the_same_is_not_dirty(self) -> None:
        history = fold(self.snapshot(USER, CALLER), messages=(CALLER, USER))
        assert history.take_dirty() == []
        history.apply(result("c", "t"))
        assert [m["id"] for m in history.messages] == ["a", "t", "u"]

    def test_dropped_and_added_again_is_not_dropped(self) -> None:
        history = fold(self.snapshot(), self.snapshot(USER), messages=(USER,))
        assert history.take_dropped() == []

    @pytest.mark.parametrize(
        ("incoming", "metadata", "kept"),
        [
            ([USER], None, ["r", "p", "u"]),
            ([{**REASONING, "id": "r2"}], None, ["p", "r2"]),
            ([{**PLAN, "id": "p2"}], None, ["r", "p2"]),
            ([], {"authoritativeActivityTypes": None}, ["r"]),
            ([], {"authoritativeActivityTypes": ["plan"]}, ["r"]),
            ([{**PLAN, "id": "p2"}], {"authoritativeActivityTypes": ["x"]}, ["r", "p", "p2"]),
            ([], {"authoritativeActivityTypes": "plan"}, ["r", "p"]),
            ([{**PLAN, "id": "p2"}], {}, ["r", "p2"]),
            ([{**PLAN, "id": "p2"}], "odd", ["r", "p", "p2"]),
        ],
    )
    def test_reasoning_and_activities_stay_when_nothing_is_said_of_them(
        self, incoming: list[Wire], metadata: Any, kept: list[str]
    ) -> None:
        rest = {} if metadata is None else {"metadata": {"@ag-ui/client": metadata}}
        messages = (self.REASONING, self.PLAN, USER)
        history = fold(self.snapshot(*incoming, **rest), messages=messages)
        assert [m["id"] for m in history.messages] == kept

    def test_streaming_goes_on_in_what_a_snapshot_has_replaced(self) -> None:
        message = {"id": "m", "role": "assistant", "content": "snap"}
        history = fold(text_start(), text("lost"), self.snapshot(message), text("!"))
        assert history.messages == [{**message, "content": "snap!"}]
        assert history.take_dirty() == []
        history.apply(text_end())
        assert [m.id for m in history.take_dirty()] == ["m"]
