"""Messages as answers, by rule: what is understood, and that nothing is guessed."""

from __future__ import annotations

from typing import Any

import pytest

from agui_bridge.protocol.answers.decisions import Answer
from agui_bridge.protocol.answers.from_message import Reply, extract_by_rule, read_yes_or_no
from agui_bridge.protocol.schemas.checking import find_schema_fault


def asking(**schema: Any) -> dict[str, Any]:
    return {"type": "object", "required": ["it"], "properties": {"it": schema}}


CONFIRMED = asking(type="boolean")
PLAN = asking(enum=["Free", "Premium", 3])
AMOUNT = asking(type="number")
COUNT = asking(type="integer")
DAY = asking(type="string", format="date")
MOMENT = asking(type="string", format="date-time")
NAME = asking(type="string")


@pytest.mark.parametrize(
    "text",
    """
    yes|Yes.|YES!|y|Yes, confirmed|yes please|Please go ahead|OK, do it|Sure, I agree|yep yep
    I confirm|confirmed, thank you|that's right|That’s right|Of course!|\uff59\uff45\uff53
    是|是的|是的。|好的，请继续|我确认|确认！|可以|没问题|好吧|同意了|是的，谢谢|確認|那就继续吧
    """.strip()
    .replace("\n    ", "|")
    .split("|"),
)
def test_a_plain_yes_is_understood(text: str) -> None:
    assert read_yes_or_no(text) is True
    assert extract_by_rule(Reply(text, CONFIRMED)) == Answer({"it": True})


@pytest.mark.parametrize(
    "text",
    """
    no|No!|nope|no, thanks|please don't|Don’t do it|do not|I decline|cancel|stop|not now|no no no
    不|不是|不要|不行。|取消|我不同意|请停止|不用了，谢谢|否|拒绝|不確認
    """.strip()
    .replace("\n    ", "|")
    .split("|"),
)
def test_a_plain_no_is_understood(text: str) -> None:
    assert read_yes_or_no(text) is False
    assert extract_by_rule(Reply(text, CONFIRMED)) == Answer({"it": False})


@pytest.mark.parametrize(
    "text",
    [
        "", "  ", "!", "please", "谢谢", "maybe", "yes but not the new ones", "yes, no", "yes?",
        "confirmed？", "no problem", "don't stop", "do not cancel", "why not", "not yes",
        "Is that a yes", "yes " * 100, "不是不行", "是不是", "可以吗", "确认删除旧的", "是的，不要",
        "go", "I do", "I said yes to the other thing", "yesterday", "know", "不知道", "好像",
    ],
)  # fmt: skip
def test_what_is_more_or_less_than_a_yes_or_a_no_is_neither(text: str) -> None:
    assert read_yes_or_no(text) is None
    assert extract_by_rule(Reply(text, CONFIRMED)) is None


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (PLAN, "premium", "Premium"),
        (PLAN, " Premium! ", "Premium"),
        (PLAN, "3", 3),
        (asking(enum=["标准", "加急"]), "加急。", "加急"),
        (asking(const="ok"), "OK", "ok"),
        (AMOUNT, "12.50", 12.5),
        (AMOUNT, "1,234,567", 1234567),
        (AMOUNT, "-3", -3),
        (AMOUNT, "+007", 7),
        (AMOUNT, "\uff14\uff12", 42),
        (COUNT, "42.", 42),
        (DAY, "2026-11-21", "2026-11-21"),
        (DAY, "2026/1/2", "2026-01-02"),
        (DAY, "2026年11月21日", "2026-11-21"),
        (DAY, "21 November 2026", "2026-11-21"),
        (DAY, "Nov 21st, 2026", "2026-11-21"),
        (MOMENT, "2026-11-21T08:00:00Z", "2026-11-21T08:00:00+00:00"),
        (MOMENT, "2026-11-21 08:00+02:00", "2026-11-21T08:00:00+02:00"),
        (NAME, "  Ann Lee ", "Ann Lee"),
        (asking(type="string", minLength=3), "北京市", "北京市"),
        (asking(anyOf=[{"type": "boolean"}, {"type": "null"}]), "yes", True),
    ],
)
def test_options_numbers_dates_and_texts_are_read(
    schema: dict[str, Any], text: str, value: object
) -> None:
    answer = extract_by_rule(Reply(text, schema))

    assert answer == Answer({"it": value})
    assert find_schema_fault(schema, answer.payload) is None


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (PLAN, "not premium"),
        (PLAN, "Premium or Free"),
        (PLAN, "gold"),
        (asking(enum=["a", "A"]), "a"),
        (AMOUNT, "12 or 13"),
        (AMOUNT, "1,5"),
        (AMOUNT, "ten"),
        (AMOUNT, "1e400"),
        (AMOUNT, "NaN"),
        (DAY, "tomorrow"),
        (DAY, "3/4/2026"),
        (DAY, "2026-02-30"),
        (DAY, "Ma 3, 2026"),
        (MOMENT, "2026-11-21"),
        (MOMENT, "2026-11-21T08:00"),
        (NAME, "   "),
        (asking(type="array", items={"type": "string"}), "a"),
        ({"type": "object"}, "yes"),
    ],
)
def test_what_the_rules_do_not_know_is_not_guessed(schema: dict[str, Any], text: str) -> None:
    assert extract_by_rule(Reply(text, schema)) is None


def test_the_one_required_field_is_meant_and_of_several_none() -> None:
    yes, note = {"type": "boolean"}, {"type": "string"}
    one = {"type": "object", "required": ["ok"], "properties": {"ok": yes, "note": note}}
    only = {"type": "object", "properties": {"ok": yes}}
    both = {**one, "required": ["ok", "note"]}
    neither = {**one, "required": []}

    assert extract_by_rule(Reply("yes", one)) == Answer({"ok": True})
    assert extract_by_rule(Reply("yes", only)) == Answer({"ok": True})
    assert extract_by_rule(Reply("yes", both)) is None
    assert extract_by_rule(Reply("yes", neither)) is None


def test_a_schema_that_is_no_object_is_answered_whole() -> None:
    assert extract_by_rule(Reply("no", {"type": "boolean"})) == Answer(False)
    assert extract_by_rule(Reply("7", {"type": "integer"})) == Answer(7)


def test_a_reference_is_followed() -> None:
    schema = {**asking(**{"$ref": "#/$defs/ok"}), "$defs": {"ok": {"type": "boolean"}}}

    assert extract_by_rule(Reply("yes", schema)) == Answer({"it": True})
