"""Parts of user messages: those of 0.x are upgraded, unknown ones kept, wrong ones named."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from agui_bridge.errors import Refused
from agui_bridge.protocol.dialects.parsing import parse_input
from agui_bridge.protocol.threads.content_parts import known_messages, with_unknown_parts

TEXT = {"type": "text", "text": "Look:"}
LATER = {"type": "hologram", "source": "x", "of": {"n": None}}


def body(*parts: Any) -> dict[str, Any]:
    message = {"id": "m", "role": "user", "content": list(parts)}
    return {"threadId": "t", "runId": "r", "messages": [message]}


def image(kind: str, value: str, media: str, part: str = "image", **rest: Any) -> dict[str, Any]:
    return {"type": part, "source": {"type": kind, "value": value, "mimeType": media}, **rest}


@pytest.mark.parametrize(
    ("legacy", "upgraded"),
    [
        ({"mimeType": "image/png", "data": "aGk="}, image("data", "aGk=", "image/png")),
        ({"mimeType": "image/png", "url": "https://x/a"}, image("url", "https://x/a", "image/png")),
        ({"mimeType": "audio/wav", "data": "aGk="}, image("data", "aGk=", "audio/wav", "audio")),
        ({"mimeType": "video/mp4", "url": "u"}, image("url", "u", "video/mp4", "video")),
        ({"mimeType": "application/pdf", "data": "aGk=", "url": "u", "filename": "a.pdf"},
         image("data", "aGk=", "application/pdf", "document", metadata={"filename": "a.pdf"})),
        ({"mimeType": "imagery/x", "data": "aGk=", "filename": ""},
         image("data", "aGk=", "imagery/x", "document")),
    ],
)  # fmt: skip
def test_a_binary_part_gets_the_shape_of_1_0(legacy: Any, upgraded: Any) -> None:
    sent = body(TEXT, {"type": "binary", **legacy})
    before = copy.deepcopy(sent)

    parsed = parse_input(sent)

    assert parsed.messages[0]["content"] == [TEXT, upgraded]
    [message] = parsed.input.messages
    assert message.content[1].type == upgraded["type"]  # type: ignore[union-attr, index]
    assert sent == before


@pytest.mark.parametrize(
    "part",
    [LATER, {"type": "binary", "mimeType": "image/png", "id": "file-1"}, {"type": "binary"}],
)
def test_an_unknown_part_is_kept_and_left_out_of_the_types(part: Any) -> None:
    parsed = parse_input(body(part, TEXT))

    assert parsed.messages[0]["content"] == [part, TEXT]
    [message] = parsed.input.messages
    assert [known.type for known in message.content] == ["text"]  # type: ignore[union-attr]
    [known] = known_messages(parsed.messages)
    assert known == message


def test_unknown_parts_return_to_where_they_were() -> None:
    sent = body(LATER, TEXT, LATER)["messages"][0]
    made = {"id": "m", "role": "user", "content": [{"type": "text", "text": "cleaned"}]}

    assert with_unknown_parts(made, sent)["content"] == [
        LATER,
        {"type": "text", "text": "cleaned"},
        LATER,
    ]


@pytest.mark.parametrize(
    ("part", "where"),
    [
        ({"type": "text"}, "messages.0.content.1.text"),
        ({"type": "text", "text": 1}, "messages.0.content.1.text"),
        ({"type": "image"}, "messages.0.content.1.source"),
        (
            {"type": "image", "source": {"type": "data", "value": "x"}},
            "messages.0.content.1.source.mimeType",
        ),
        ({"type": "image", "source": {"type": "?"}}, "messages.0.content.1.source.type"),
        ({"text": "x"}, "messages.0.content.1.type"),
        ({"type": 1}, "messages.0.content.1.type"),
        ("text", "messages.0.content.1"),
        (None, "messages.0.content.1"),
    ],
)
def test_a_fault_of_a_part_names_the_part(part: Any, where: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_input(body(TEXT, part, LATER))

    assert refused.value.details is not None
    assert refused.value.details["field"] == where
    assert "Input should" not in refused.value.message


def test_content_that_is_neither_text_nor_parts_is_named_itself() -> None:
    sent = body()
    sent["messages"][0]["content"] = 5
    with pytest.raises(Refused, match=r"^messages\.0\.content: "):
        parse_input(sent)
