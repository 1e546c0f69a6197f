"""What clients from before 1.0 are told: each shape, at the releases on both sides of its change.

That the releases themselves see it so is tested in tests/e2e/test_releases.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from agui_bridge.protocol.dialects import V0, V1, V1_1, Dialect, parse_input

Json = dict[str, Any]

TEXT: Final[Json] = {"type": "text", "text": "a"}
URL: Final[Json] = {"type": "image", "source": {"type": "url", "value": "https://x/a.png"}}
DATA: Final[Json] = {
    "type": "document",
    "source": {"type": "data", "value": "aGk=", "mimeType": "text/plain"},
    "metadata": {"filename": "a.txt"},
}
FILE: Final[Json] = {"type": "audio", "source": {"type": "file", "value": "f", "mimeType": "a/b"}}
BINARY: Final[Json] = {"type": "binary", "mimeType": "image/png", "id": "f"}
OLD_URL: Final[Json] = {"type": "binary", "mimeType": "image/*", "url": "https://x/a.png"}
OLD_DATA: Final[Json] = {
    "type": "binary",
    "mimeType": "text/plain",
    "data": "aGk=",
    "filename": "a.txt",
}
UNREADABLE: Final[tuple[Any, ...]] = (
    FILE,
    {"type": "hologram", "rays": 7},
    {"type": "binary", "mimeType": "image/png"},
    {"type": "binary", "id": "f"},
    {"type": "image", "source": {"type": "moon", "value": "x"}},
    {"type": "image", "source": {"type": "data", "value": "x"}},
    {"type": "image", "source": {"type": "url"}},
    {"type": "image"},
    {"type": "text"},
    "text",
    None,
)


def user(content: Any, **more: Any) -> Json:
    return {"id": "u", "role": "user", "content": content, **more}


def tool(content: Any) -> Json:
    return {"id": "t", "role": "tool", "toolCallId": "c", "content": content}


PARTS: Final = [TEXT, URL, FILE, TEXT]

MESSAGES: Final[list[tuple[Json, int, Json | None]]] = [
    (user("x"), 27, user("x")),
    (user(PARTS), 40, user("aa")),
    (user([URL]), 40, user("")),
    (user([TEXT, URL, DATA, BINARY]), 41, user([TEXT, OLD_URL, OLD_DATA, BINARY])),
    (user([TEXT, URL, DATA, BINARY]), 48, user([TEXT, OLD_URL, OLD_DATA, BINARY])),
    (user([TEXT, URL, DATA, BINARY]), 49, user([TEXT, URL, DATA, BINARY])),
    *((user([TEXT, part, TEXT]), 48, user([TEXT, TEXT])) for part in UNREADABLE),
    *((user([TEXT, part, TEXT]), 59, user([TEXT, TEXT])) for part in UNREADABLE),
    (user("x", name=None, encryptedValue=None), 59, user("x")),
    (
        user([{"type": "image", "source": {"type": "url", "value": "u", "mimeType": None}}]),
        59,
        user([{"type": "image", "source": {"type": "url", "value": "u"}}]),
    ),
    (user("x", encryptedValue="v", encryptedValueType="k"), 59, user("x", encryptedValue="v")),
    (tool("x"), 27, tool("x")),
    (tool(PARTS), 27, tool("aa")),
    (tool(PARTS), 59, tool("aa")),
    (tool([FILE]), 59, tool("")),
    ({"id": "r", "role": "reasoning", "content": "x"}, 44, None),
    (
        {"id": "r", "role": "reasoning", "content": "x"},
        45,
        {"id": "r", "role": "reasoning", "content": "x"},
    ),
    ({"id": "a", "role": "activity", "activityType": "P", "content": {}}, 40, None),
    (
        {"id": "a", "role": "activity", "activityType": "P", "content": {}},
        41,
        {"id": "a", "role": "activity", "activityType": "P", "content": {}},
    ),
]
"""A message, a release, and the message as it is told to a client of that release."""

RESULT: Final[Json] = {"type": "TOOL_CALL_RESULT", "messageId": "t", "toolCallId": "c"}
START: Final[Json] = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "user"}
EMPTY: Final[Json] = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": ""}


def since(release: int, *kinds: str) -> Iterator[tuple[Json, int, Json | None]]:
    """Events that are left out before a release, and told from then on."""
    for kind in kinds:
        event = {"type": kind}
        yield event, release - 1, None
        yield event, release, event


EVENTS: Final[list[tuple[Json, int, Json | None]]] = [
    ({**RESULT, "content": "x"}, 29, None),
    ({**RESULT, "content": "x"}, 30, {**RESULT, "content": "x"}),
    ({**RESULT, "content": PARTS}, 30, {**RESULT, "content": "aa"}),
    ({**RESULT, "content": PARTS}, 59, {**RESULT, "content": "aa"}),
    ({**RESULT, "content": [FILE]}, 59, {**RESULT, "content": ""}),
    (START, 36, {**START, "role": "assistant"}),
    (START, 37, START),
    (EMPTY, 49, None),
    (EMPTY, 50, EMPTY),
    *since(41, "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"),
    *since(
        45,
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "REASONING_ENCRYPTED_VALUE",
    ),
    *since(59, "SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR"),
    *(
        ({"type": kind}, 27, {"type": kind})
        for kind in ("STEP_STARTED", "STATE_DELTA", "CUSTOM", "RAW", "TOOL_CALL_ARGS")
    ),
    *(
        (
            {"type": "MESSAGES_SNAPSHOT", "messages": [message]},
            release,
            {"type": "MESSAGES_SNAPSHOT", "messages": [] if told is None else [told]},
        )
        for message, release, told in MESSAGES
    ),
]
"""An event, a release, and the event as it is told to a client of that release."""


def dialect(version: str | None, choice: Any = "auto") -> Dialect:
    declared = {} if version is None else {"protocolVersion": version}
    body = {"threadId": "t", "runId": "r", "messages": [], **declared}
    return parse_input(body, choice=choice).dialect


CHOICES: Final = ("auto", "ag-ui", "langgraph", "langgraph-both", "draft")


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize(("event", "release", "told"), EVENTS)
def test_a_release_is_told_what_it_can_read_in_every_dialect(
    event: Json, release: int, told: Json | None, choice: str
) -> None:
    noted: list[str] = []
    spoken = dialect(f"0.0.{release}", choice)
    assert spoken.content(event, noted.append) == told
    if told != event:
        assert event["type"] in spoken.altered


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize(("event", "release", "told"), EVENTS)
def test_a_client_that_declares_nothing_is_told_what_the_last_release_is(
    event: Json, release: int, told: Json | None, choice: str
) -> None:
    last = dialect("0.0.59", choice)
    assert dialect(None, choice).content(event) == last.content(event)


@pytest.mark.parametrize(("event", "release", "told"), EVENTS)
def test_clients_of_1_1_are_told_all(event: Json, release: int, told: Json | None) -> None:
    assert V1_1.content(event) is event


@pytest.mark.parametrize(
    ("event", "release", "noted"),
    [
        ({**RESULT, "content": PARTS}, 59, ["image", "audio"]),
        ({"type": "MESSAGES_SNAPSHOT", "messages": [user(PARTS)]}, 59, ["'audio'", "'file'"]),
        ({"type": "MESSAGES_SNAPSHOT", "messages": [user([{"type": "x"}])]}, 59, ["'x'"]),
        ({"type": "MESSAGES_SNAPSHOT", "messages": [user(PARTS)]}, 40, ["'image'", "'audio'"]),
        ({"type": "REASONING_START"}, 44, ["REASONING_START"]),
        ({"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "r", "role": "reasoning"}]}, 44, ["re"]),
        ({"type": "MESSAGES_SNAPSHOT", "messages": [user([TEXT, URL, DATA])]}, 48, []),
    ],
)
def test_what_is_left_out_is_noted(event: Json, release: int, noted: list[str]) -> None:
    found: list[str] = []
    dialect(f"0.0.{release}").content(event, found.append)
    assert bool(found) is bool(noted)
    assert all(word in " ".join(found) for word in noted)


@pytest.mark.parametrize(
    ("declared", "release"),
    [
        (None, 59),
        ("0.x", 59),
        ("0.0", 59),
        ("0.1.7", 59),
        ("0.0.60", 59),
        ("0.0.59", 59),
        ("0.0.44", 44),
        ("0.0.40-alpha.7", 40),
        ("0.0.0", 0),
        ("0.0.99999999", 59),
    ],
)
def test_the_release_is_what_a_client_declares(declared: str | None, release: int) -> None:
    assert dialect(declared).release == release


def test_clients_of_one_are_held_to_no_release() -> None:
    assert (V1.release, V1_1.release, V0.release) == (None, None, 59)


@pytest.mark.parametrize(
    ("release", "choice", "name"),
    [
        (53, "auto", "langgraph-both"),
        (54, "auto", "0.x"),
        (53, "ag-ui", "0.x"),
        (53, "langgraph", "langgraph"),
        (53, "draft", "draft"),
    ],
)
def test_a_release_that_reads_no_outcome_is_told_a_pause_by_an_event(
    release: int, choice: str, name: str
) -> None:
    assert dialect(f"0.0.{release}", choice).name == name
