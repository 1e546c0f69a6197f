"""What is archived stands in the thread: what leaves together, what a client's list makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from agui_bridge.protocol.threads.client_messages import (
    GoingBack,
    merge_client_messages,
    merge_for_client_history,
)
from agui_bridge.protocol.threads.content_parts import with_own_member, without_own
from agui_bridge.protocol.threads.history import History
from agui_bridge.protocol.threads.messages.archived import (
    archived_for,
    as_archived,
    in_context,
    left_out,
    unarchived,
    with_calls,
)
from tests.protocol.threads.test_client_messages import assistant, stored, tool, user

Wire = dict[str, Any]

U1, A1, U2, A2 = user("u1", "one"), assistant("a1"), user("u2", "two"), assistant("a2")
BAD = as_archived(user("bad", "a picture"), "refused")
"""It was refused, and the thread went on."""
THREAD = (U1, A1, BAD, U2, A2)

CALLED = (user("u1"), assistant("a1", "c1", "c2"), tool("t1", "c1"), tool("t2", "c2"), user("u2"))
WAITING = (user("u1"), assistant("a1", "c1", "c2"), tool("t1", "c1"), user("u2"))


@pytest.mark.parametrize(
    ("messages", "ids", "held", "leaving"),
    [
        pytest.param(CALLED, ["u1"], [], "u1", id="a message alone"),
        pytest.param(CALLED, ["a1"], [], "a1 t1 t2", id="a call takes its results along"),
        pytest.param(CALLED, ["t2"], [], "a1 t1 t2", id="a result takes its call along"),
        pytest.param(CALLED, ["u1", "a1"], ["c2"], "u1", id="a call that somebody waits for stays"),
        pytest.param(CALLED, ["t1"], ["c2"], "", id="so does what belongs to it"),
        pytest.param(WAITING, ["u1", "a1", "t1"], [], "u1", id="a call without a result stays"),
        pytest.param([tool("t", "gone")], ["t"], [], "t", id="a result of no call"),
        pytest.param(CALLED, ["unknown"], [], "", id="what the thread lacks"),
    ],
)
def test_a_call_leaves_with_its_results_or_not_at_all(
    messages: tuple[Wire, ...], ids: list[str], held: list[str], leaving: str
) -> None:
    assert with_calls(messages, ids, held) == set(leaving.split())


def test_the_mark_is_one_note_among_others() -> None:
    of_bob = with_own_member(user("u") | {"metadata": {"theirs": 1}}, "actor", "bob")
    marked = as_archived(of_bob, "size")
    assert archived_for(marked) == "size"
    assert marked["metadata"] == {
        "theirs": 1,
        "agui_bridge": {"actor": "bob", "archived": {"reason": "size"}},
    }
    assert unarchived(marked) == of_bob
    assert unarchived(as_archived(user("u"), "size")) == user("u")
    assert archived_for(of_bob) is archived_for(user("u")) is None
    # A client can claim none.
    assert without_own(marked) == user("u") | {"metadata": {"theirs": 1}}


@pytest.mark.parametrize(
    ("messages", "tried", "sent"),
    [
        pytest.param(THREAD, None, "u1 a1 u2 a2", id="no agent is sent it"),
        pytest.param(THREAD, "bad", "u1 a1 bad u2 a2", id="unless it is tried again"),
        pytest.param(THREAD, "u1", "u1 a1 u2 a2", id="another is tried again"),
        pytest.param((U1, A1), None, "u1 a1", id="none is archived"),
        pytest.param(
            (U1, as_archived(assistant("a", "c"), "size"), tool("t", "c"), U2),
            None,
            "u1 u2",
            id="a result that came since stays with its call",
        ),
    ],
)
def test_what_an_agent_is_sent(messages: tuple[Wire, ...], tried: str | None, sent: str) -> None:
    out = left_out(messages, tried)
    assert [m["id"] for m in in_context(messages, out)] == sent.split()


PLAIN_BAD = unarchived(BAD)
SHOWN = [U1, A1, PLAIN_BAD, U2, A2]
LACKING = [U1, A1, U2, A2]
LAST = (U1, A1, BAD)


@pytest.mark.parametrize(
    ("thread", "sent", "back", "added", "again", "superseded"),
    [
        pytest.param(THREAD, SHOWN, {}, "", None, "", id="its id is known"),
        pytest.param(
            THREAD, [*SHOWN, user("u3")], {}, "u3", None, "", id="a page that has it goes on"
        ),
        pytest.param(
            THREAD, [*LACKING, user("u3")], {}, "u3", None, "", id="so does one that lacks it"
        ),
        pytest.param(
            THREAD,
            [U1, A1, user("x", "a picture"), U2, A2],
            {},
            "",
            None,
            "",
            id="under another id it is no new one",
        ),
        pytest.param(
            THREAD, [U1, A1, user("x")], {}, "x", None, "bad u2 a2", id="an edit takes it back"
        ),
        pytest.param(THREAD, [U1, A1, PLAIN_BAD], {}, "", "bad", "u2 a2", id="it is brought again"),
        pytest.param(THREAD, [U1, A1, U2], {}, "", "u2", "a2", id="another answer without it"),
        pytest.param(LAST, [U1, A1, PLAIN_BAD], {}, "", "bad", "", id="it is the last one"),
        pytest.param(LAST, [U1], {}, "", "u1", "a1 bad", id="an answer anew before it"),
        pytest.param(
            LAST,
            [U1, A1, user("x")],
            {"sign": "bad"},
            "x",
            None,
            "bad",
            id="it is the newest turn that a page had",
        ),
        pytest.param(
            THREAD,
            [U1, A1, user("x")],
            {"policy": "signed"},
            "x",
            None,
            "",
            id="nothing goes that stays by another rule",
        ),
        pytest.param(
            (as_archived(U1, "size"), as_archived(A1, "size"), U2, A2),
            [U1, A1, user("x")],
            {},
            "x",
            None,
            "u2 a2",
            id="back to what left at a size",
        ),
    ],
)
def test_what_a_list_makes_of_it(
    thread: tuple[Wire, ...],
    sent: list[Wire],
    back: dict[str, Any],
    added: str,
    again: str | None,
    superseded: str,
) -> None:
    merged = merge_client_messages(stored(*thread), sent, back=GoingBack(**back))
    assert [m["id"] for m in merged.added] == added.split()
    assert (merged.again, merged.superseded) == (again, tuple(superseded.split()))


CALL = as_archived(assistant("a", "c"), "size")


@pytest.mark.parametrize(
    ("thread", "sent", "context"),
    [
        pytest.param(THREAD, SHOWN, "u1 a1 u2 a2", id="a client's list has it"),
        pytest.param(
            THREAD, [U1, A1, user("x", "a picture"), U2, A2], "u1 a1 u2 a2", id="by another id"
        ),
        pytest.param(
            (U1, CALL, as_archived(tool("t", "c"), "size"), U2),
            [U1, assistant("a", "c"), tool("x", "c"), U2],
            "u1 u2",
            id="its call and the result, whoever names it",
        ),
    ],
)
def test_a_clients_own_history_is_sent_without_it(
    thread: tuple[Wire, ...], sent: list[Wire], context: str
) -> None:
    rows = stored(*thread)
    made = merge_for_client_history(rows, sent, left_out=left_out(thread))
    assert [m["id"] for m in made] == context.split()


@pytest.mark.parametrize(
    "told", [pytest.param(LACKING, id="lacks it"), pytest.param(SHOWN, id="brings it")]
)
def test_an_agents_snapshot_neither_removes_it_nor_brings_it_back(told: list[Wire]) -> None:
    history = History(stored(*THREAD))
    history.apply({"type": "MESSAGES_SNAPSHOT", "messages": told})
    assert history.messages == list(THREAD)
    assert history.take_dropped() == []
