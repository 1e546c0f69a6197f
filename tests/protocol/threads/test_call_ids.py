"""Ids of calls: unique in a thread, in the shape that their model knows."""

from __future__ import annotations

import pytest

from agui_bridge.protocol.threads.messages.call_ids import CallIds, ReplyIds
from tests.agents.function.harness import make_run


def ids_of(*taken: str) -> CallIds:
    return CallIds(taken, lambda: "minted")


@pytest.mark.parametrize(
    ("native", "taken", "own"),
    [
        ("call_9f", (), "call_9f"),
        ("functions.pay:0", ("functions.pay:0",), "functions.pay:1"),
        ("functions.pay:0", ("functions.pay:0", "functions.pay:1"), "functions.pay:2"),
        ("call-0009", ("call-0009",), "call-0010"),
        ("pay", ("pay",), "pay-2"),
        ("pay", ("pay", "pay-2"), "pay-3"),
        ("7", ("7",), "8"),
        ("x" + "9" * 5000, ("x" + "9" * 5000,), "x" + "9" * 4991 + "1000000000"),
        ("", (), "minted"),
        (None, (), "minted"),
    ],
)
def test_a_taken_id_gives_way_to_the_next_one_of_its_shape(
    native: str | None, taken: tuple[str, ...], own: str
) -> None:
    assert ids_of(*taken).new(native) == own


def test_ids_that_were_given_and_those_of_the_conversation_are_taken() -> None:
    message = {"id": "m", "role": "assistant", "toolCalls": [{"id": "a"}]}
    run = make_run(raw_messages=[message], known_calls=["b"])
    ids = run.call_ids(also=["c"])
    assert [ids.new(native) for native in "abcdd"] == ["a-2", "b-2", "c-2", "d", "d-2"]


def test_a_reply_in_pieces_is_the_same_as_whole() -> None:
    reply = ReplyIds(ids_of("pay").new)
    pieces = [reply.piece(0, "pay"), reply.piece(1, "pay"), reply.piece(0, "pay")]
    assert pieces == ["pay-2", "pay-3", "pay-2"]
    assert reply.whole(["pay", "look", "pay"]) == ["pay-2", "look", "pay-3"]
