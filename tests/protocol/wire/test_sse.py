"""Events to server-sent events and back."""

import enum
import itertools
import json
from typing import Any

import pytest
from ag_ui import core as agui
from ag_ui.encoder import EventEncoder
from hypothesis import given, strategies as st
from pydantic import TypeAdapter

from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.lifecycle.event_rules import EVENT_RULES
from agui_bridge.protocol.wire.sse import KEEP_ALIVE, Decoder, Frame, FrameTooLarge, encode

EVENT: TypeAdapter[Any] = TypeAdapter(agui.Event)
PATCH = [{"op": "add", "path": "/a", "value": 1}, {"op": "remove", "path": "/a"}]
INTERRUPT = {"id": "i", "reason": "tool_call", "message": "é?", "toolCallId": "c"}
FIELDS: dict[str, dict[str, Any]] = {
    "TEXT_MESSAGE_START": {"messageId": "m", "role": "assistant", "name": "n"},
    "TEXT_MESSAGE_CONTENT": {"messageId": "m", "delta": 'a"\\\n\x1f\x7f\u2028é😀</script>'},
    "TEXT_MESSAGE_END": {"messageId": "m"},
    "TEXT_MESSAGE_CHUNK": {"messageId": "m", "role": "user", "delta": "x", "name": "n"},
    "TOOL_CALL_START": {"toolCallId": "c", "toolCallName": "t", "parentMessageId": "m"},
    "TOOL_CALL_ARGS": {"toolCallId": "c", "delta": '{"a":'},
    "TOOL_CALL_END": {"toolCallId": "c"},
    "TOOL_CALL_CHUNK": {
        "toolCallId": "c",
        "toolCallName": "t",
        "parentMessageId": "m",
        "delta": "x",
    },
    "TOOL_CALL_RESULT": {"messageId": "m", "toolCallId": "c", "content": "ok", "role": "tool"},
    "STATE_SNAPSHOT": {"snapshot": {"a": [1, 1.5, -0.0, 1e22, 1e-7, None, True, 2**70]}},
    "STATE_DELTA": {"delta": PATCH},
    "MESSAGES_SNAPSHOT": {"messages": [{"id": "m", "role": "user", "content": "hi"}]},
    "ACTIVITY_SNAPSHOT": {
        "messageId": "m",
        "activityType": "t",
        "content": {"a": 1},
        "replace": False,
    },
    "ACTIVITY_DELTA": {"messageId": "m", "activityType": "t", "patch": PATCH},
    "RAW": {"event": {"a": None}, "source": "s"},
    "CUSTOM": {"name": "a.b", "value": None},
    "RUN_STARTED": {"threadId": "t", "runId": "r", "protocolVersion": "1.0"},
    "RUN_FINISHED": {
        "threadId": "t",
        "runId": "r",
        "outcome": {"type": "interrupt", "interrupts": [INTERRUPT]},
    },
    "RUN_ERROR": {"message": "no", "code": "X"},
    "STEP_STARTED": {"stepName": "s"},
    "STEP_FINISHED": {"stepName": "s"},
    "REASONING_START": {"messageId": "m"},
    "REASONING_MESSAGE_START": {"messageId": "m", "role": "reasoning"},
    "REASONING_MESSAGE_CONTENT": {"messageId": "m", "delta": "hm"},
    "REASONING_MESSAGE_END": {"messageId": "m"},
    "REASONING_MESSAGE_CHUNK": {"messageId": "m", "delta": "hm"},
    "REASONING_END": {"messageId": "m"},
    "REASONING_ENCRYPTED_VALUE": {"subtype": "message", "entityId": "m", "encryptedValue": "v"},
    "SUBAGENT_STARTED": {"subagentRunId": "s", "name": "n", "parentSubagentRunId": "p"},
    "SUBAGENT_FINISHED": {
        "subagentRunId": "s",
        "outcome": {"type": "suspended", "interruptIds": ["i"]},
    },
    "SUBAGENT_ERROR": {"subagentRunId": "s", "message": "no", "code": "X"},
}
DELTAS = [("TEXT_MESSAGE_CONTENT", "messageId"), ("TOOL_CALL_ARGS", "toolCallId"),
          ("REASONING_MESSAGE_CONTENT", "messageId")]  # fmt: skip


class Odd(enum.Enum):
    ONE = object()


def official(event: WireEvent) -> bytes:
    return EventEncoder().encode(EVENT.validate_python(event)).encode()


def test_the_official_types_are_all_covered() -> None:
    assert FIELDS.keys() == EVENT_RULES.keys() == {kind.value for kind in agui.EventType}


@pytest.mark.parametrize("kind", FIELDS)
@pytest.mark.parametrize("extras", [False, True])
def test_encoding_is_byte_identical_to_the_official_one(kind: str, extras: bool) -> None:
    event: WireEvent = {"type": kind, **FIELDS[kind]}
    if extras:
        shared = {"timestamp": 1, "rawEvent": {"a": None}, "metadata": {"k": [1]}}
        event = {"type": kind, **shared, **FIELDS[kind], "vendor": 1}
    assert encode(event) == official(event)


@pytest.mark.parametrize(("kind", "key"), DELTAS)
@given(entity=st.text(), delta=st.text())
def test_every_delta_is_byte_identical(kind: str, key: str, entity: str, delta: str) -> None:
    entity, delta = entity.replace("\x00", ""), delta.replace("\x00", "")
    event = {"type": kind, key: entity, "delta": delta}
    assert encode(event) == official(event)


@pytest.mark.parametrize("length", [50, 66, 67, 10_000])
def test_long_deltas_are_byte_identical(length: int) -> None:
    event = {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '"é\n' * length}
    assert encode(event) == official(event)
    event["delta"] += "\ud800"
    assert encode(event).count("\ufffd".encode()) == 1
    event["delta"] = event["delta"][:-1] + "\x00"
    assert encode(event).count("\ufffd".encode()) == 1


@given(st.text(st.characters() | st.characters(categories=["Cs"])))
def test_no_text_fails_and_none_has_a_nul(delta: str) -> None:
    for event in (
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta},
        {"type": "CUSTOM", "name": "n", "value": {delta: [delta]}},
    ):
        encoded = encode(event)
        assert encoded.startswith(b"data: {") and encoded.endswith(b"}\n\n")
        decoded = json.loads(encoded[6:])
        plain = delta.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        if plain == delta:
            assert decoded == json.loads(json.dumps(event).replace("\\u0000", "\\ufffd"))


@pytest.mark.parametrize(
    ("event", "data"),
    [
        (
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a\x00\ud800"},
            '{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a\ufffd\ufffd"}',
        ),
        (
            {"type": "TOOL_CALL_ARGS", "toolCallId": "c\x00", "delta": "{}"},
            '{"type":"TOOL_CALL_ARGS","toolCallId":"c\ufffd","delta":"{}"}',
        ),
        (
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": None},
            '{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":null}',
        ),
        (
            {"type": "TOOL_CALL_ARGS", "messageId": "m", "delta": ""},
            '{"type":"TOOL_CALL_ARGS","messageId":"m","delta":""}',
        ),
        ({"type": "RAW", "event": float("nan")}, '{"type":"RAW","event":null}'),
        ({"type": "RAW", "event": "\\u0000"}, '{"type":"RAW","event":"\\\\u0000"}'),
        ({"type": "RAW", "event": "\x00"}, '{"type":"RAW","event":"\ufffd"}'),
        ({"type": "RAW", "event": b"\xff"}, '{"type":"RAW","event":"_w=="}'),
        (
            {"type": "RAW", "event": Odd.ONE},
            '{"type":"RAW","event":"Odd.ONE"}',
        ),
    ],
)
def test_what_json_can_not_hold_is_replaced(event: WireEvent, data: str) -> None:
    assert encode(event) == f"data: {data}\n\n".encode()


STREAM = (
    '\ufeffdata: {"a": "é😀"}\n\n'
    ": keep-alive\r\n\r\n"
    "event: news\r\nid: 7\r\ndata: one\r\ndata:two\rdata:  three\n\n"
    "retry: 10\nunknown\ndata\n\n"
    "id: a\x00b\nevent: lost\n\n"
    "id\ndata: [DONE]\n\n"
).encode()
FRAMES = [
    Frame("", '{"a": "é😀"}', ""),
    Frame("news", "one\ntwo\n three", "7"),
    Frame("", "", "7"),
    Frame("", "[DONE]", ""),
]


def test_a_stream_decodes_as_the_standard_says() -> None:
    decoder = Decoder()
    assert decoder.feed(STREAM) == FRAMES
    assert decoder.close() is False


@given(st.lists(st.integers(0, len(STREAM))))
def test_any_chunking_gives_the_same_frames(cuts: list[int]) -> None:
    decoder = Decoder(max_frame_bytes=100)
    edges = [0, *sorted(cuts), len(STREAM)]
    chunks = [STREAM[a:b] for a, b in itertools.pairwise(edges)]
    assert [frame for chunk in chunks for frame in decoder.feed(chunk)] == FRAMES
    assert decoder.close() is False


def test_what_was_encoded_is_decoded() -> None:
    events: list[WireEvent] = [{"type": kind, **fields} for kind, fields in FIELDS.items()]
    frames = Decoder().feed(KEEP_ALIVE.join(map(encode, events)))
    assert [frame.wire_event() for frame in frames] == events


@pytest.mark.parametrize("data", ["[DONE]", "", "[1]", "1", "{", "[" * 100_000])
def test_data_that_is_no_event_is_still_there(data: str) -> None:
    (frame,) = Decoder().feed(f"data:{data}\n\n".encode())
    assert frame.data == data
    assert frame.wire_event() is None


@pytest.mark.parametrize(
    ("tail", "truncated"),
    [
        (b"", False),
        (b"data: x", True),
        (b"data: x\n", True),
        (b"da", True),
        (b": comm", False),
        (b": comment\n", False),
        (b"\xef\xbb\xbf: comm", False),
        (b"\xef\xbb\xbfdata", True),
        (b"data: x\n\n", False),
    ],
)
def test_closing_tells_whether_a_frame_was_cut(tail: bytes, truncated: bool) -> None:
    decoder = Decoder()
    decoder.feed(tail)
    assert decoder.close() is truncated


def test_invalid_utf8_is_replaced() -> None:
    assert Decoder().feed(b"data: \xff\n\n") == [Frame("", "\ufffd", "")]


def test_a_frame_is_bounded_however_it_arrives() -> None:
    decoder = Decoder(max_frame_bytes=20)
    for _ in range(10):
        decoder.feed(b"data: 12345678\n\n: idle\n\n")
    with pytest.raises(FrameTooLarge, match="20 bytes"):
        decoder.feed(b"data: 123456789012345")
    many_lines = Decoder(max_frame_bytes=20)
    with pytest.raises(FrameTooLarge):
        for _ in range(10):
            many_lines.feed(b"data:\n")
    comment = Decoder(max_frame_bytes=20)
    with pytest.raises(FrameTooLarge):
        comment.feed(b":" * 21)
