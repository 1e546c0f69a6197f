"""Forms of questions: every kind of field, and JSON for what has none."""

from typing import Any

import pytest

from agui_bridge.adapters import Ask
from agui_bridge.protocol.answers.decisions import CONFIRM_SCHEMA
from agui_bridge.protocol.threads.records import Interrupt
from tests.http.inbox.conftest import Serving

SEND = "Send the answer"

EVERY_KIND = {
    "type": "object",
    "required": ["name", "year", "share", "quarter", "level", "sure", "tags", "place", "any"],
    "properties": {
        "name": {"type": "string"},
        "year": {"type": "integer", "minimum": 2000},
        "share": {"type": "number"},
        "quarter": {"enum": ["Q1", "Q2"]},
        "level": {"enum": [1, 2.5]},
        "sure": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"type": "object"},
        "any": {"type": ["string", "integer"]},
        "on": {"type": "string", "format": "date"},
        "mail": {"type": ["string", "null"], "format": "email"},
        "maybe": {"type": "boolean"},
        "note": {"type": "string", "maxLength": 500, "description": "What else there is."},
        "steps": {"type": "integer", "default": 3},
    },
}
FILLED: dict[str, Any] = {
    "answer__name": "Ann ",
    "answer__year": " 2026 ",
    "answer__share": "0.5",
    "answer__quarter": "Q2",
    "answer__level": "2.5",
    "answer__sure": "false",
    "answer__tags": '["a", "b"]',
    "answer__place": '{"city": "Ulm"}',
    "answer__any": '"7"',
}


def answered(row: Interrupt) -> Any:
    """What was answered, its types included."""
    assert row.answer is not None
    return repr(row.answer.payload)


async def test_every_kind_of_field_has_a_control_and_brings_its_own_type(serving: Serving) -> None:
    ask = Ask("n", "input_required", "Tell me.", response_schema=EVERY_KIND)
    async with serving(ask) as site, site.person() as ann:
        [path] = await site.ask()
        page = await ann.look(path)
        done = await ann.press(page, SEND, **FILLED)
        [row] = await site.rows()

    assert done.status == 200, done.text
    assert page.controls["answer:on"]["type"] == "date"
    assert page.controls["answer:mail"]["type"] == "email"
    assert page.controls["answer:year"]["inputmode"] == "decimal"
    assert "What else there is." in page.text
    assert answered(row) == repr(
        {
            "name": "Ann ",
            "year": 2026,
            "share": 0.5,
            "quarter": "Q2",
            "level": 2.5,
            "sure": False,
            "tags": ["a", "b"],
            "place": {"city": "Ulm"},
            "any": "7",
            "steps": 3,
        }
    )


async def test_every_field_that_is_wrong_is_told_by_its_name(serving: Serving) -> None:
    ask = Ask("n", "input_required", "Tell me.", response_schema=EVERY_KIND)
    wrong: dict[str, Any] = {
        "answer__year": "",
        "answer__share": "NaN",
        "answer__tags": "[",
        "answer__sure": [],
    }
    async with serving(ask) as site, site.person() as ann:
        [path] = await site.ask()
        page = await ann.press(await ann.look(path), SEND, **{**FILLED, **wrong})
        late = await ann.press(page, SEND, **{**FILLED, "answer__year": "1999"})
        [row] = await site.rows()

    assert (page.status, page.title, row.is_open) == (422, "Error: Tell me.", True)
    assert [words for words in page.links if words in ("Year", "Share", "Tags", "Sure")] == [
        "Year",
        "Share",
        "Sure",
        "Tags",
    ]
    faulty = {name for name, given in page.controls.items() if "aria-invalid" in given}
    assert faulty == {"answer:year", "answer:share", "answer:tags"}
    assert ("answer:name", "Ann ") in page.forms[-1].fields
    assert late.status == 422 and "must be at least 2000, not 1999" in late.text


@pytest.mark.parametrize(
    ("schema", "sent", "payload"),
    [
        (None, "Just\r\nwords", "Just\nwords"),
        ({"type": "string"}, "5", "5"),
        ({"type": "integer"}, "5", 5),
        ({"enum": ["a", "b"]}, "b", "b"),
        ({"type": "boolean"}, "true", True),
        ({"type": "array"}, "[1, null]", [1, None]),
        ({"type": "object"}, '{"a": {}}', {"a": {}}),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "7", 7),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "7", 7),
        ({"not": {"type": "null"}}, "words", "words"),
    ],
)
async def test_an_answer_that_is_no_object_has_one_field(
    serving: Serving, schema: Any, sent: str, payload: Any
) -> None:
    ask = Ask("n", "input_required", "What?", response_schema=schema)
    async with serving(ask) as site, site.person() as ann:
        [path] = await site.ask()
        done = await ann.press(await ann.look(path), SEND, answer__value=sent)
        [row] = await site.rows()

    assert done.status == 200, done.text
    assert answered(row) == repr(payload)


@pytest.mark.parametrize(("button", "payload"), [("Yes", True), ("No", False)])
async def test_a_confirmation_is_two_buttons(serving: Serving, button: str, payload: bool) -> None:
    ask = Ask("n", "confirmation", "Sure?", response_schema=CONFIRM_SCHEMA)
    async with serving(ask) as site, site.person() as ann:
        [path] = await site.ask()
        done = await ann.press(await ann.look(path), button)
        [row] = await site.rows()

    assert done.status == 200
    assert answered(row) == repr({"confirm": payload})


async def test_a_question_that_may_be_declined_has_a_button_for_it(serving: Serving) -> None:
    schema = {"type": "object", "required": ["x"], "properties": {"x": {"type": "string"}}}
    ask = Ask("n", "input_required", "X?", response_schema=schema, allowed=("answer", "decline"))
    async with serving(ask) as site, site.person() as ann:
        [path] = await site.ask()
        page = await ann.look(path)
        empty = await ann.press(page, SEND)
        done = await ann.press(page, "Decline to answer", reason="Not mine to say.")
        [row] = await site.rows()

    assert empty.status == 422 and "X: Fill this in." in empty.text
    assert done.title == "Declined: X?"
    assert answered(row) == repr({"declined": True, "reason": "Not mine to say."})


async def test_names_of_fields_are_no_markup(serving: Serving) -> None:
    odd = 'a"><b onload=1> / é'
    schema = {"type": "object", "required": [odd], "properties": {odd: {"type": "integer"}}}
    ask = Ask("n", "input_required", "X?", response_schema=schema)
    async with serving(ask) as site, site.person() as ann:
        [path] = await site.ask()
        page = await ann.look(path)
        sent: list[dict[str, Any]] = [{f"answer__{odd}": "x"}, {f"answer__{odd}": "4"}]
        wrong, done = [await ann.press(page, SEND, **values) for values in sent]
        [row] = await site.rows()

    assert wrong.status == 422 and f"answer:{odd}" in wrong.controls
    assert done.status == 200 and answered(row) == repr({odd: 4})
