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
        "You asked me to please confirm it.",
        "The job was waiting for your confirmation.",
        "Users must always confirm before they delete.",
        "What do you want me to do?",
        "The confirmation required dialog is old.",
        "系统会记录是否执行成功。",
    ],
)
def test_for_a_mention_no_card_is_shown(text: str) -> None:
    assert sentences(text) == []


@pytest.mark.parametrize(
    "text",
    [
        '"Are you sure?"',
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
    ],
)
def test_in_doubt_it_is_a_request(text: str) -> None:
    assert sentences(text) == [text]
