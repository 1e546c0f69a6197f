"""What is only mentioned has no card; in doubt it has one."""

import pytest

from tests.agents.sentences.test_scanner import sentences


@pytest.mark.parametrize(
    "text",
    [
        'He said "are you sure?" Then he left.',
        "The dialog reads 'are you sure' in red.",
        "“Are you sure?” she asked.",
        "他说“是否继续？”然后走了。",
        "“你确定要走吗？”她问道。",
        "> Please confirm the date.",
        "There is no need to please confirm.",
        "This does not need your approval.",
        "No further confirmation required.",
        "这一步不需要您的批准。",
        "The job was waiting for your confirmation.",
        "Users must always confirm before they delete.",
        "The confirmation required dialog is old.",
        '"Are you sure?"',
        "From May on, such payments will need your approval.",
        "Next week I'll need your approval.",
        "When the copy is done, I'll ask you “shall I proceed”.",
        "It isn't necessary for you to confirm before I read it.",
        "Neither of the two is waiting for approval.",
        "The seat is yours once approval is needed from nobody.",
        "src/a.py:7: ask('shall I proceed')",
        "以后都会需要您的批准。",
        "到时候再问您是否继续。",
        "也不是在等待您的确认。",
        "那封请批准的邮件撤回了。",
        "合同是您确认后寄出的。",
        "You won't have to say okay to proceed each time.",
        "Waiting for approval: 0. Approved: 14.",
        "Banks always require your confirmation only above 50 EUR.",
        "Confirm before you pay an invoice.",
        "状态有三种：等待您批准、已批准、已驳回。",
        "不必说可以继续吗。",
    ],
)
def test_for_a_mention_no_card_is_shown(text: str) -> None:
    assert sentences(text) == []


@pytest.mark.parametrize(
    "text",
    [
        'I must ask: "Are you sure?"',
        "我想问：“是否继续？”",
        "> ⚠️ Please confirm the date.",
        "> **Please confirm** the date.",
        "I did not send it, please confirm.",
        "If you agree, please confirm.",
        "The manual is 'a.pdf', do you want to proceed?",
        'It said "are you sure?", and so do I: are you sure?',
        "请您决定是否继续。",
        "不会删除任何文件，请确认。",
        "I need you to confirm before I go on.",
        "I will need your confirmation here.",
        "When you are ready, please approve.",
        'The 27" screen is sold out: may I proceed with the 24" one?',
        "The filter is `'%a%'`, may I proceed?",
        "明天的航班已选好，需要您的批准。",
        "您确认后我就提交了。",
        "Tomorrow the price goes up, so I need your approval today.",
        "To be clear, I'm asking you to please confirm it.",
        "Let me ask once more: are you sure?",
        "到时候会断网 5 分钟，可以开始吗？",
    ],
)
def test_in_doubt_it_is_a_request(text: str) -> None:
    assert sentences(text) == [text]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("The poem:\n\nRoses are red,\nviolets are blue.\n\nPHRASE.", "PHRASE."),
        ("Here's the draft:\n\n> Hi Tom, PHRASE.\n\nAll is well.", None),
        ("Here's the draft:\n\n```\nHi Tom, PHRASE.\n```\n", None),
        ("Here's the draft:\n\nHi Tom,\n\nPHRASE soon.", "PHRASE soon."),
    ],
)
@pytest.mark.parametrize("phrase", ["please confirm", "awaiting your approval", "请确认"])
def test_a_piece_for_others_has_cards_unless_it_is_marked_as_one(
    text: str, asked: str | None, phrase: str
) -> None:
    found = sentences(text.replace("PHRASE", phrase))

    assert found == ([asked.replace("PHRASE", phrase)] if asked else [])
