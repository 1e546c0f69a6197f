"""A yes that says again what was asked. Most lines are of other people's programs and pages."""

from __future__ import annotations

import pytest

from agui_bridge.protocol.answers.decisions import Answer
from agui_bridge.protocol.answers.from_message import Reply, extract_by_rule, read_yes_or_no

CONFIRMED = {
    "type": "object",
    "required": ["confirmed"],
    "properties": {"confirmed": {"type": "boolean"}},
}

OLD, EMAIL, MONEY = "Please confirm: delete old records", "Shall I send the email?", "Refund 10?"
ACCOUNT = "Are you absolutely SURE you want to delete your account?"
ROWS = "Delete 1,234 rows of users?"
FOLDER, PAYMENT = "是否要删除 node_modules 目录？", "确认退款吗？"
TICKET = "确认一下，您要预定下周四从广州到北京的高铁二等座，对吗？"


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        (OLD, "Yes, please delete them"),
        (OLD, "Yes, please delete them."),
        (OLD, "Yes, delete it"),
        (OLD, "Yes, Please Delete"),
        (OLD, "yes, delete the old records"),
        (OLD, "Yes. Delete old records, please."),
        (OLD, "Yes, confirmed. Delete them, thanks!"),
        (ACCOUNT, "Yes, Please Delete My Account"),
        (EMAIL, "Yes, please send it."),
        (EMAIL, "Yes, go ahead and send it."),
        (EMAIL, "yes send it"),
        (EMAIL, "Sure, send the email"),
        (MONEY, "Yes, refund 10"),
        (MONEY, "yes, refund it"),
        (ROWS, "Yes, delete 1234 rows of users"),
        (ROWS, "Yes, delete 1,234 rows of users"),
        (FOLDER, "是的，请删除"),
        (FOLDER, "是的，请删除它!"),
        (FOLDER, "好的，删除吧"),
        (FOLDER, "好的删除"),
        (FOLDER, "可以，请删除 node_modules 目录，谢谢"),
        (PAYMENT, "是的，确认退款"),
        ("请确认：删除旧记录", "是的，请删除"),
        ("确定要删除旧记录吗？", "是的，确认删除旧记录"),
    ],
)
def test_a_yes_may_say_again_what_was_asked(question: str, reply: str) -> None:
    assert read_yes_or_no(reply, question) is True
    assert extract_by_rule(Reply(reply, CONFIRMED, question)) == Answer({"confirmed": True})
    assert read_yes_or_no(reply) in (None, True)


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        # There is more in it, or something else.
        (OLD, "Yes, delete the new records"),
        (OLD, "Yes, delete records"),
        (OLD, "Yes, delete old records and new ones"),
        (OLD, "Yes, delete them, but keep a copy"),
        (OLD, "Yes, archive them"),
        (OLD, "Yes, don't delete them"),
        (OLD, "Yes, delete them tomorrow"),
        (OLD, "Yes, please delete this opportunity on the following date"),
        (OLD, "delete them"),
        (OLD, "No, delete them"),
        (OLD, "Yes, delete them?"),
        (OLD, "No, don't delete them"),
        (OLD, "是的，请删除"),
        (ROWS, "Yes, delete 12 rows of users"),
        (ROWS, "Yes, delete 1,235 rows of users"),
        (ROWS, "Yes, delete users"),
        (MONEY, "Yes, refund 5"),
        (MONEY, "Yes, refund 100"),
        (EMAIL, "Yes, send me your calendar."),
        (EMAIL, "Yes, send unprotected"),
        (EMAIL, "Yes, send data to server"),
        (EMAIL, "yes, but only if shipping is free"),
        (EMAIL, "Yes, send it. So it's approved, right? I can go to the pharmacy this afternoon?"),
        (EMAIL, "Yes, go ahead and check CI, and tell me a joke while we wait"),
        (EMAIL, "Yes, go ahead and build the basic components."),
        (FOLDER, "是的，请删除 byType"),
        (FOLDER, "是的，请把这些全部删除"),
        (FOLDER, "不，请不要删除"),
        (FOLDER, "如果是的，请删除dialogue"),
        (FOLDER, "是的，请不要删除"),
        (FOLDER, "是的，删除 node"),
        (FOLDER, "请删除"),
        (FOLDER, "Yes, please delete them"),
        (PAYMENT, "是的，确认退款 100 元"),
        ("确认删除 1234 行吗？", "是的，删除 12 行"),
        ("确认删除 1234 行吗？", "是的，删除12"),
        # The question offers a choice, denies, or says several things.
        ("Delete old records or keep them?", "Yes, delete them"),
        ("Delete old records or keep them?", "Yes, keep them"),
        ("Delete old, keep new?", "Yes, keep new"),
        ("Shall I not delete them?", "Yes, delete them"),
        ("Delete Ann? Delete Bob?", "Yes, delete Ann"),
        ("Delete 1?\nThe answer is for all 2 items that wait.", "Yes, delete 1"),
        ("删除还是保留旧记录？", "是的，请删除"),
        ("不删除旧记录吗？", "是的，删除"),
        (TICKET, "是的，确认预定。"),
        ("", "Yes, please delete them"),
        ("Is this right?", "Yes, is this"),
    ],
)
def test_what_says_more_or_something_else_is_no_answer(question: str, reply: str) -> None:
    assert read_yes_or_no(reply, question) in (None, False)
    assert extract_by_rule(Reply(reply, CONFIRMED, question)) != Answer({"confirmed": True})
