"""Forms of many schemas at the prompt: nothing is answered by accident, and everything can be."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agui_bridge.protocol.answers.decisions import declinable
from tests.cli.terminal import terminal
from tests.client.raw_server import asking, raw_server

Lines = list[tuple[str, str]]
"""What is waited for, and what is typed then."""


def form(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties}


async def answered(schema: dict[str, Any] | None, lines: Lines) -> tuple[Any, str]:
    """The payload that lines come to, and what was shown."""
    ask: dict[str, Any] = {"id": "i1", "reason": "input_required", "message": "Well?"}
    if schema is not None:
        ask["responseSchema"] = schema

    def talk(url: str) -> str:
        with terminal("chat", f"{url}agui") as chat:
            chat.answer("you > ", "hello")
            for prompt, typed in lines:
                chat.answer(prompt, typed)
            # The server asks the same again.
            chat.wait_for("Well?")
            chat.wait_for(" > ")
            chat.type("/quit")
            assert chat.end() == 0
            return chat.shown

    async with raw_server(asking([ask]), path="/agui") as server:
        shown = await asyncio.to_thread(talk, server.url)
    [entry] = server.bodies[1]["resume"]
    return entry["payload"], shown


EMPTY = "must be typed here, or /cancel."
ANYTHING = "answer, text or JSON > "
INTEGER = {"type": "integer"}


@pytest.mark.parametrize(
    ("schema", "lines", "payload"),
    [
        pytest.param(None, [(ANYTHING, ""), (EMPTY, "Yes")], "Yes", id="any"),
        pytest.param({}, [(ANYTHING, ""), (EMPTY, "[1]")], [1], id="empty schema"),
        pytest.param(
            {"type": "object"},
            [("({}: an empty one) > ", ""), (EMPTY, "{}")],
            {},
            id="object without fields",
        ),
        pytest.param(
            {"type": "object", "required": ["x"]},
            [("a JSON object > ", "{}"), ('"x" is missing', '{"x": 1}')],
            {"x": 1},
            id="object whose fields are not described",
        ),
        pytest.param(
            form(["name"], name={"type": "string"}),
            [("name > ", ""), (EMPTY, "Ann")],
            {"name": "Ann"},
            id="required text",
        ),
        pytest.param(
            form(["name", "value"], name={"type": "string"}, value=INTEGER),
            [("name > ", "a"), ("value > ", "x"), ("a whole number", "7")],
            {"name": "a", "value": 7},
            id="a field called value",
        ),
        pytest.param(
            form([], sure={"type": "boolean"}, loud={"type": "boolean", "default": True}),
            [("sure [y]es, [n]o (Enter: nothing) > ", ""), ("(Enter: yes) > ", "")],
            {"loud": True},
            id="optional confirmations",
        ),
        pytest.param(
            form(
                ["rows"],
                rows={"anyOf": [INTEGER, {"type": "null"}]},
                most={**INTEGER, "default": 7},
            ),
            [("rows (Enter: nothing) > ", ""), ("most (Enter: 7) > ", "")],
            {"rows": None, "most": 7},
            id="null and a default",
        ),
        pytest.param(
            form(["v"], v={"anyOf": [INTEGER, {"type": "object"}]}),
            [("v, text or JSON > ", "x"), ("must fit one of", '{"a": 1}')],
            {"v": {"a": 1}},
            id="one of several types",
        ),
        pytest.param(
            form(["v"], v={"enum": [True, "maybe"]}),
            [("v, text or JSON > ", "true")],
            {"v": True},
            id="a choice that is no text",
        ),
        pytest.param(
            form(["tags"], tags={"type": "array", "items": {"type": "string"}}),
            [("tags, a JSON list > ", "a, b"), ("must be a list", '["a", "b"]')],
            {"tags": ["a", "b"]},
            id="list",
        ),
        pytest.param(
            {"allOf": [form(["a"], a=INTEGER), form(["b"], b={"type": "string"})]},
            [(ANYTHING, '{"a": 1}'), ('"b" is missing', '{"a": 1, "b": "x"}')],
            {"a": 1, "b": "x"},
            id="allOf",
        ),
        pytest.param(
            {"oneOf": [form(["k"], k={"const": "x"}), form(["k"], k={"const": "y"})]},
            [(ANYTHING, '{"k": "y"}')],
            {"k": "y"},
            id="oneOf",
        ),
        pytest.param(
            form(["q"], q={"enum": [3, 1, 2]}),
            [("q, one of these > ", "4"), ("one of these, or /cancel", "1")],
            {"q": 1},
            id="options that are numbers",
        ),
        pytest.param(
            declinable(form(["n"], n={"$ref": "#/$defs/N"}) | {"$defs": {"N": INTEGER}}),
            [("[a]nswer", "a"), ("\nn > ", "7")],
            {"n": 7},
            id="a reference beside a decline",
        ),
    ],
)
async def test_an_answer_is_what_was_typed_and_nothing_else(
    schema: dict[str, Any] | None, lines: Lines, payload: Any
) -> None:
    found, _ = await answered(schema, lines)
    assert found == payload


async def test_what_is_wrong_between_fields_is_told_and_what_was_typed_is_kept() -> None:
    schema = {
        **form(["a"], a=INTEGER, c={"type": "string", "description": "A word."}),
        "if": {"properties": {"a": {"const": 1}}},
        "then": {"required": ["c"]},
    }
    lines = [
        ("a > ", "1"),
        ("c (Enter: nothing) > ", ""),
        ("a > 1", ""),
        ("c (Enter: nothing) > ", "x"),
    ]
    found, shown = await answered(schema, lines)
    assert found == {"a": 1, "c": "x"}
    assert '"c" is missing. Each field is asked for again.' in shown and "A word." in shown


async def test_what_was_typed_before_a_question_stood_there_does_not_answer_it() -> None:
    slow = "x" * 50_000
    text = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": "assistant", "delta": slow}
    schema = form(["name"], name={"type": "string"})
    ask = {"id": "i1", "reason": "input_required", "responseSchema": schema}

    def talk(url: str) -> None:
        with terminal("chat", f"{url}agui") as chat:
            chat.answer("you > ", "hello")
            chat.type("typed ahead")
            chat.answer("name > ", "Ann")
            chat.answer("name > ", "/quit")
            assert chat.end() == 0

    async with raw_server(asking([ask], text), path="/agui") as server:
        await asyncio.to_thread(talk, server.url)
    assert server.bodies[1]["resume"][0]["payload"] == {"name": "Ann"}


async def test_what_is_typed_at_a_question_does_not_answer_the_next_one() -> None:
    schema = form(["name"], name={"type": "string"})
    asks = [
        {"id": i, "reason": "input_required", "responseSchema": schema, "message": long}
        for i, long in (("i1", "First?"), ("i2", "Second? " + "x" * 50_000))
    ]

    def talk(url: str) -> None:
        with terminal("chat", f"{url}agui") as chat:
            chat.answer("you > ", "hello")
            chat.answer("name > ", "Ann\nand more")
            chat.read_on("name > ")
            chat.type("Bob")
            chat.answer("name > ", "/quit")
            assert chat.end() == 0

    async with raw_server(asking(asks), path="/agui") as server:
        await asyncio.to_thread(talk, server.url)
    resume = server.bodies[1]["resume"]
    assert [entry["payload"]["name"] for entry in resume] == ["Ann", "Bob"]


async def test_a_text_that_looks_like_a_number_is_kept_as_text_when_it_is_asked_for_again() -> None:
    both = {"if": {"required": ["v"]}, "then": {"required": ["c"]}}
    schema = {**form([], v={}, c=INTEGER), **both}
    lines = [
        ("v, text or JSON (Enter: nothing) > ", '"7"'),
        ("c (Enter: nothing) > ", ""),
        ('v, text or JSON (Enter: nothing) > "7"', ""),
        ("c (Enter: nothing) > ", "1"),
    ]
    found, _ = await answered(schema, lines)
    assert found == {"v": "7", "c": 1}
