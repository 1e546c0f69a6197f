"""What counts of a client's messages, and what the history lacks."""

import copy
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agui_bridge.protocol.threads.client_messages import (
    ClientMessages,
    GoingBack,
    merge_client_messages,
    merge_for_client_history,
)
from agui_bridge.protocol.threads.history import STRIDE, StoredMessage

Wire = dict[str, Any]


def user(message_id: str, content: str = "hi") -> Wire:
    return {"id": message_id, "role": "user", "content": content}


def assistant(message_id: str, *calls: str) -> Wire:
    message = {"id": message_id, "role": "assistant", "content": "ok"}
    return {**message, "toolCalls": [call(call_id) for call_id in calls]} if calls else message


def call(call_id: str, arguments: str = "{}") -> Wire:
    return {"id": call_id, "type": "function", "function": {"name": "t", "arguments": arguments}}


def tool(message_id: str, call_id: str, content: str = "done") -> Wire:
    return {"id": message_id, "role": "tool", "toolCallId": call_id, "content": content}


def other(message_id: str, role: str) -> Wire:
    return {"id": message_id, "role": role, "content": "x"}


def stored(*messages: Wire) -> list[StoredMessage]:
    return [StoredMessage(m["id"], n * STRIDE, m) for n, m in enumerate(messages, 1)]


THREAD = (user("u1"), assistant("a1"), user("u2"), assistant("a2"))


def merge(
    thread: tuple[Wire, ...], incoming: list[Wire], **options: Any
) -> tuple[list[str], list[str], list[str]]:
    merged = merge_client_messages(stored(*thread), incoming, **options)
    return [m["id"] for m in merged.added], list(merged.superseded), sorted(merged.reached)


class TestAdding:
    def test_an_empty_list_adds_nothing_and_takes_nothing_back(self) -> None:
        assert merge_client_messages(stored(*THREAD), []) == ClientMessages()

    @pytest.mark.parametrize(
        ("thread", "begins", "added"),
        [((), True, ["a1", "u1", "a2", "u2"]), ((), False, ["u1", "u2"]), (THREAD, False, [])],
    )
    def test_what_the_agent_is_made_to_say_counts_where_the_thread_begins(
        self, thread: tuple[Wire, ...], begins: bool, added: list[str]
    ) -> None:
        called, empty = assistant("a3", "c1"), {"id": "a4", "role": "assistant", "content": ""}
        told = [other("s", "system"), called, empty, tool("t", "c1")]
        listed = [assistant("a1"), user("u1"), *told, assistant("a2"), user("u2")]
        merged = merge_client_messages(stored(*thread), listed, begins=begins)
        assert [m["id"] for m in merged.added] == added
        marks = [m.get("metadata") for m in merged.added if m["role"] == "assistant"]
        assert marks == [{"agui_bridge": {"initial": True}}] * (2 if begins else 0)

    def test_unseen_user_messages_are_added_in_order(self) -> None:
        added, superseded, reached = merge(THREAD, [*THREAD, user("u3"), user("u4")])
        assert (added, superseded) == (["u3", "u4"], [])
        assert reached == ["a1", "a2", "u1", "u2"]

    def test_a_fresh_page_adds_its_only_message(self) -> None:
        assert merge(THREAD, [user("u3")]) == (["u3"], [], [])

    @pytest.mark.parametrize("role", ["assistant", "system", "developer", "reasoning", "activity"])
    def test_other_roles_can_not_be_forged(self, role: str) -> None:
        assert merge(THREAD, [*THREAD, other("x", role), {"id": "y"}])[0] == []

    def test_known_messages_can_not_be_altered(self) -> None:
        assert merge(THREAD, [*THREAD[:3], assistant("a2"), user("u1", "forged")])[0] == []

    def test_the_first_of_several_with_one_id_counts(self) -> None:
        merged = merge_client_messages([], [user("u", "first"), user("v"), user("u", "second")])
        assert merged.added == (user("u", "first"), user("v"))

    def test_a_user_message_that_comes_again_under_a_new_id_is_not_added_again(self) -> None:
        again = [user("x1"), assistant("a1"), user("x2"), assistant("a2"), user("u3")]
        assert merge(THREAD, again) == (["u3"], [], ["a1", "a2", "u1", "u2"])

    def test_a_call_that_is_known_says_as_well_that_a_message_comes_again(self) -> None:
        thread = (user("u1"), assistant("a1", "c1"))
        again = [user("x1"), assistant("x2", "c1"), tool("t1", "c1")]
        assert merge(thread, again, pending_calls={"c1"})[0] == ["t1"]
        assert merge(thread, [user("x1"), tool("t1", "c1")], pending_calls={"c1"})[0] == ["t1"]

    @pytest.mark.parametrize(
        "incoming",
        [
            pytest.param([user("x1")], id="nothing known follows"),
            pytest.param([user("x1", "other"), *THREAD[1:2]], id="it says something else"),
            pytest.param([*THREAD[:1], user("x1"), *THREAD[1:]], id="the stored one is there too"),
            pytest.param([*THREAD[:2], user("u2"), user("x1"), THREAD[3]], id="after all of them"),
        ],
    )
    def test_the_same_words_said_once_more_are_added(self, incoming: list[Wire]) -> None:
        assert merge(THREAD, incoming)[0] == ["x1"]

    def test_each_stored_message_is_met_once(self) -> None:
        thread = (user("u1", "yes"), assistant("a1"), user("u2", "yes"), assistant("a2"))
        again = [user("x1", "yes"), user("x2", "yes"), user("x3", "yes"), assistant("a2")]
        assert merge(thread, again)[0] == ["x3"]

    def test_reached_is_what_stands_before_the_last_added_message(self) -> None:
        shown = [THREAD[0], user("u3"), *THREAD[1:]]
        assert merge(THREAD, shown) == (["u3"], [], ["u1"])
        assert merge(THREAD, list(THREAD))[2] == ["a1", "a2", "u1", "u2"]


class TestFrontendResults:
    thread = (user("u1"), assistant("a1", "c", "d"))

    def test_a_pending_calls_result_counts_once(self) -> None:
        incoming = [*self.thread, tool("t1", "c"), tool("t2", "c"), tool("t3", "d")]
        assert merge(self.thread, incoming, pending_calls=["c", "d"])[0] == ["t1", "t3"]

    def test_no_other_calls_result_counts(self) -> None:
        incoming = [*self.thread, tool("t1", "c"), tool("t2", "unknown")]
        assert merge(self.thread, incoming, pending_calls=["d", "unknown"])[0] == []

    def test_a_result_can_not_take_a_known_id(self) -> None:
        assert merge(self.thread, [tool("u1", "c")], pending_calls=["c"])[0] == []

    def test_a_call_that_is_taken_back_has_no_result(self) -> None:
        incoming = [user("u2", "another"), tool("t1", "c")]
        signed = GoingBack(sign="a1")
        assert merge(self.thread, incoming, pending_calls=["c"], back=signed) == (
            ["u2"],
            ["u1", "a1"],
            [],
        )

    def test_a_result_takes_nothing_back(self) -> None:
        incoming, always = [user("u1"), tool("t1", "c")], GoingBack(policy="always")
        assert merge(self.thread, incoming, pending_calls=["c"], back=always) == (
            ["t1"],
            [],
            ["u1"],
        )


class TestGoingBack:
    def test_a_proper_prefix_takes_back_the_rest(self) -> None:
        edit = [*THREAD[:2], user("u2b")]
        assert merge(THREAD, edit) == (["u2b"], ["u2", "a2"], ["a1", "u1"])

    def test_regenerating_adds_nothing(self) -> None:
        assert merge(THREAD, list(THREAD[:3])) == ([], ["a2"], ["a1", "u1", "u2"])

    def test_a_result_that_the_client_learned_of_late_does_not_hide_that_it_went_back(self) -> None:
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        asked: Wire = {"id": "a1", "role": "assistant", "toolCalls": [call]}
        late: Wire = {"id": "t1", "role": "tool", "toolCallId": "c", "content": "expired"}
        said: Wire = {"id": "a2", "role": "assistant", "content": "z"}
        thread = (user("u1"), asked, late, user("u2"), said)
        # It stands behind the newest message in the client's own list.
        assert merge(thread, [user("u1"), asked, user("u2"), late])[:2] == ([], ["a2"])

    def test_not_allowed_it_adds_only(self) -> None:
        edit = [*THREAD[:2], user("u2b")]
        assert merge(THREAD, edit, back=GoingBack(allowed=False)) == (["u2b"], [], ["a1", "u1"])

    @pytest.mark.parametrize(
        "incoming",
        [
            [user("u9")],
            [THREAD[1], user("u9")],
            [THREAD[0], THREAD[2], user("u9")],
            [THREAD[1], THREAD[0], user("u9")],
            [*THREAD, user("u9")],
        ],
        ids=["none known", "not the first", "a gap", "another order", "all known"],
    )
    def test_what_is_no_proper_prefix_takes_nothing_back(self, incoming: list[Wire]) -> None:
        assert merge(THREAD, incoming)[:2] == (["u9"], [])

    @pytest.mark.parametrize("role", ["reasoning", "activity", "tool", "system"])
    def test_trailing_messages_that_clients_do_not_track_are_no_sign(self, role: str) -> None:
        thread = (*THREAD, other("x", role))
        assert merge(thread, [*THREAD, user("u9")])[:2] == (["u9"], [])

    def test_untracked_messages_in_between_do_not_hide_it(self) -> None:
        thread = (user("u1"), other("r", "reasoning"), assistant("a1"), user("u2"))
        incoming = [thread[0], thread[2], user("u2b")]
        assert merge(thread, incoming)[:2] == (["u2b"], ["u2"])

    def test_results_stay_with_the_calls_that_are_kept(self) -> None:
        thread = (user("u1"), assistant("a1", "c"), tool("t", "c"), assistant("a2", "d"),
                  tool("t2", "d"))  # fmt: skip
        always = GoingBack(policy="always")
        assert merge(thread, [*thread[:2], user("u2")], back=always)[1] == ["a2", "t2"]

    @given(
        seen=st.lists(
            st.sampled_from([*THREAD, user("u8", "new"), user("u9", "newer"), assistant("a9")])
        ),
        allow=st.booleans(),
    )
    def test_only_a_suffix_is_ever_taken_back(self, seen: list[Wire], allow: bool) -> None:
        before = copy.deepcopy(seen)
        merged = merge_client_messages(stored(*THREAD), seen, back=GoingBack(allowed=allow))
        ids = [m["id"] for m in THREAD]
        assert list(merged.superseded) == ids[len(ids) - len(merged.superseded) :]
        assert len(merged.superseded) < len(ids)
        assert {m["id"] for m in merged.added} == {m["id"] for m in seen} & {"u8", "u9"}
        assert not merged.reached & set(merged.superseded)
        assert seen == before


class TestClientHistory:
    def context(self, thread: tuple[Wire, ...], incoming: list[Wire], **options: Any) -> list[Wire]:
        before = copy.deepcopy(incoming)
        context = merge_for_client_history(stored(*thread), incoming, **options)
        assert incoming == before
        return context

    def test_the_clients_list_is_the_context(self) -> None:
        incoming = [user("u1", "edited"), other("s", "system"), assistant("x", "own"),
                    tool("y", "own"), tool("z", "own")]  # fmt: skip
        assert self.context(THREAD, incoming) == incoming[:4]

    def test_altered_arguments_and_forged_results_do_not_get_in(self) -> None:
        thread = (assistant("a", "c"), tool("t", "c", "real"))
        altered = {**assistant("a"), "toolCalls": [call("c", '{"all":true}')]}
        elsewhere = {**altered, "id": "b"}
        forged = tool("f", "c", "forged")
        assert self.context(thread, [altered, forged]) == list(thread)
        assert self.context(thread, [elsewhere]) == [{**thread[0], "id": "b"}, thread[1]]
        assert self.context(thread, [altered, elsewhere]) == [*thread, {**thread[0], "id": "b"}]

    def test_an_unanswered_calls_result_comes_from_the_client_only_when_it_is_its_own(self) -> None:
        thread = (assistant("a", "c"),)
        incoming = [thread[0], tool("t", "c")]
        assert self.context(thread, incoming) == [thread[0]]
        assert self.context(thread, incoming, pending_calls=["c"]) == incoming

    def test_the_first_of_several_with_one_id_counts(self) -> None:
        assert self.context((), [user("u", "1"), user("u", "2")]) == [user("u", "1")]

    def test_a_known_result_without_its_call_is_left_out(self) -> None:
        thread = (assistant("a", "c"), tool("t", "c"))
        assert self.context(thread, [thread[1]]) == []
