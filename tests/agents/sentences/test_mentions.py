"""What is only mentioned has no card; in doubt it has one."""

import pytest

from tests.agents.sentences.measuring import holds
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
        "You asked me to please confirm it.",
        "The job was waiting for your confirmation.",
        "Users must always confirm before they delete.",
        "What do you want me to do?",
        "The confirmation required dialog is old.",
        "系统会记录是否执行成功。",
        '"Are you sure?"',
        "From May on, such payments will need your approval.",
        "Next week I'll need your approval.",
        "When the copy is done, I'll ask you “shall I proceed”.",
        "It isn't necessary for you to confirm before I read it.",
        "Neither of the two is waiting for approval.",
        "She phoned to say please confirm.",
        "When a pull request is awaiting approval, its dot is yellow.",
        "The seat is yours once approval is needed from nobody.",
        "src/a.py:7: ask('shall I proceed')",
        "2026-01-02 10:11:12 INFO waiting for confirmation",
        "以后都会需要您的批准。",
        "到时候再问您是否继续。",
        "也不是在等待您的确认。",
        "那封请批准的邮件撤回了。",
        "客户确认后我才发的货。",
        "合同是您确认后寄出的。",
        "申请批准的材料有三份。",
        "短信内容是【银行】等待您的确认。",
        "The macro prints please confirm and returns 0.",
        "A robot doesn't ask can I proceed, it just does.",
        "You won't have to say okay to proceed each time.",
        "The owner's approval is required before a story is closed.",
        "Waiting for approval: 0. Approved: 14.",
        "Banks always require your confirmation only above 50 EUR.",
        "Confirm before you pay an invoice.",
        "Doctor: Are you sure it was Tuesday?",
        "$ deploy\nDo you want to continue? (y/N) n\nAborted.",
        "状态有三种：等待您批准、已批准、已驳回。",
        "银行会发短信请您再次确认交易。",
        "如果页面提示请授权，点右上角的叉。",
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


PIECES = [
    "Here's a draft for your tenants:\n\nDear all, he comes on Friday. PHRASE by mail.",
    "The email I wrote to them:\n\nHi Tom,\n\nall is well. PHRASE soon.\n\nBest,\nAnna",
    "Dear parents,\n\nit is on 4 May.\n\nPHRASE by Friday.",
    "The limerick:\n\nA man from Peru\nPHRASE, he said, do.",
    "INT. BUNKER - NIGHT\n\nKOSTA\nPHRASE?\n\nMIRA\nNo.",
    "Chapter 3\n\nThe ship fell silent.\n\nPHRASE, it read.",
    "Glossary:\n- open: PHRASE\n- done: it is over",
    "Once upon a time a robot asked. PHRASE? No.",
    "He typed the command and it spoke! PHRASE? He left.",
    "给租客的通知拟好了：\n\n各位租客：周五检修，PHRASE。",
    "诗写好了：\n\n春天来了，\nPHRASE，花开。",
    "第七章\n\n飞船亮起红光。PHRASE。",
    "名词解释：\n- 待定：PHRASE\n- 生效：已签",
]


@pytest.mark.parametrize("text", PIECES)
@pytest.mark.parametrize("phrase", ["please confirm", "awaiting approval", "请确认"])
def test_what_a_piece_for_others_asks_has_no_card_but_holds(text: str, phrase: str) -> None:
    said = text.replace("PHRASE", phrase)

    assert sentences(said) == []
    assert holds(said)


@pytest.mark.parametrize(
    "text",
    [
        "Here's the draft:\n\nHi Tom,\n\nall is well.\n\nBest,\nAnna\n\nPHRASE.",
        "Here's the draft:\n\n> Hi Tom, all is well.\n\nPHRASE so that I may send it.",
        "The poem:\n\nRoses are red,\nviolets are blue.\n\nPHRASE.",
        "I've prepared this:\n- a plan\n- a table\n\nPHRASE.",
        "Once upon a time is a cliché.\nPHRASE.",
        "Dear Ms. Hay, the order is ready. PHRASE.",
        "诗写好了：\n\n春天来了，\n花开。\n\nPHRASE。",
        "INT. BUNKER - NIGHT\n\nKOSTA\nNo.\n\n---\n\nPHRASE.",
    ],
)
@pytest.mark.parametrize("phrase", ["Please confirm", "Awaiting your approval", "请确认"])
def test_after_a_piece_for_others_the_agent_speaks_for_itself(text: str, phrase: str) -> None:
    (asked,) = sentences(text.replace("PHRASE", phrase))

    assert asked.startswith(phrase)
