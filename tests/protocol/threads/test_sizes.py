"""Which turns leave a conversation that takes too much: the oldest ones, whole."""

from typing import Any

import pytest

from agui_bridge.protocol.threads.messages.sizes import bytes_of, oldest_turns

Message = dict[str, Any]


def user(id: str, size: int = 100) -> Message:
    return {"id": id, "role": "user", "content": "x" * size}


def assistant(id: str, *calls: str, size: int = 100) -> Message:
    made = [
        {"id": call, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for call in calls
    ]
    return {
        "id": id,
        "role": "assistant",
        "content": "x" * size,
        **({"toolCalls": made} if made else {}),
    }


def tool(call: str) -> Message:
    return {"id": f"r-{call}", "role": "tool", "toolCallId": call, "content": "done"}


TALK = [user("u1"), assistant("a1"), user("u2"), assistant("a2"), user("u3"), assistant("a3")]
SIZE = bytes_of(TALK)

CALLED = [
    user("u1"),
    assistant("a1", "c1"),
    tool("c1"),
    user("u2"),
    assistant("a2"),
    user("u3", 999),
]

CASES: dict[str, tuple[list[Message], int, dict[str, Any], list[str]]] = {
    "what fits stays": (TALK, SIZE, {}, []),
    "half is left": (TALK, SIZE - 1, {}, ["u1", "a1", "u2", "a2"]),
    "the last turn stays however large": (TALK, 1, {}, ["u1", "a1", "u2", "a2"]),
    "what the input brings stays": (TALK, 1, {"stays": ["u2"]}, ["u1", "a1"]),
    "what no agent has heard stays, and later turns leave": (
        TALK, 1, {"stays": ["u1"]}, ["u2", "a2"],
    ),
    "a call leaves with its result": (CALLED, 1000, {}, ["u1", "a1", "r-c1", "u2", "a2"]),
    "a call that somebody waits for keeps its turn": (
        CALLED, 1000, {"waits": ["c1"]}, ["u2", "a2"],
    ),
    "a call without a result keeps its turn": (
        [m for m in CALLED if m["id"] != "r-c1"], 1000, {}, ["u2", "a2"],
    ),
    "a call whose result is in another turn keeps both": (
        [user("u1"), assistant("a1", "c1"), user("u2"), tool("c1"), user("u3")], 1, {}, [],
    ),
    "instructions stay": (
        [{"id": "s", "role": "system", "content": "be brief"}, *TALK], 1, {},
        ["u1", "a1", "u2", "a2"],
    ),
    "what stands before the first user's message leaves with it": (
        [assistant("a0"), *TALK], 1, {"stays": ["u2"]}, ["a0", "u1", "a1"],
    ),
    "nothing is a turn": ([], 1, {}, []),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_oldest_turns_leave(case: str) -> None:
    messages, most, members, leaving = CASES[case]
    assert oldest_turns(messages, most, **{"stays": (), "waits": (), **members}) == leaving


@pytest.mark.parametrize(
    ("content", "size"), [("x", 1), ("é", 2), ("线", 3), ("🧵", 4), ("\x01", 6), ("\ud800", 6)]
)
def test_bytes_are_those_of_json_in_utf_8(content: str, size: int) -> None:
    assert bytes_of([{"content": content}]) == len('{"content":""}') + size
