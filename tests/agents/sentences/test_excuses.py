"""A literal phrase holds what follows it, unless it is plainly quoted, in code or denied."""

import pytest
from hypothesis import given, strategies as st

from agui_bridge.agents.keyword.phrases import CHINESE_PHRASES, ENGLISH_PHRASES
from agui_bridge.agents.sentences.phrase_table import forms
from tests.agents.sentences.measuring import found_in, holds

SEED_EXAMPLES = [
    "Please confirm you want to delete...",
    "Do you confirm this action?",
    "Are you sure you want to proceed?",
    "Shall I proceed with the deployment?",
    "Would you like me to proceed?",
    "Do you want to proceed with deletion?",
    "Do you want me to send this email?",
    "Should I go ahead and reset the database?",
    "Please confirm before I execute this.",
    "Confirmation required for this action.",
    "Waiting for your confirmation...",
    "This action needs your approval.",
]
"""SuperAgent's page "Interrupt/Resume": an example for each of its phrases."""

TAKEN_FOR_MENTIONS = [
    "You have to confirm before I delete anything.",
    "Company policy says I need your approval first. May I?",
    "I wanted to ask: shall I proceed?",
    "Legal is waiting for your confirmation. OK?",
    "Make sure to confirm before I send it.",
    "I was told I need your approval for this.",
    "Confirmation required by you: delete 3 users?",
    "As the runbook says: are you sure?",
    "财务部在等待您的确认。",
    "Please\nconfirm that I may go on.",
]
"""Requests that rules about mentions have swallowed."""

IN_DOUBT = [
    "Yes/no confirmation required.",
    "A yes or no confirmation required.",
    "I will not proceed without waiting for your confirmation.",
    "Without waiting for your confirmation nothing happens.",
    "Reading doesn't need your approval, deleting does.",
    "Reading does not need your approval; deleting needs it, and I need your approval.",
    "A smaller one would not need your approval.",
    "Isn't confirmation required here?",
    "It's not that I don't need your approval.",
    "I can't say this doesn't need your approval.",
    "This doesn't need your approval unless it is production, and it is.",
    "I do not only need your approval, I need it in writing.",
    'In other words: "shall I proceed?"',
    'The question is: "shall I proceed?"',
    'Question: "Are you sure?"',
    'As the runbook says: "are you sure?"',
    'Deleting the log: "are you sure?"',
    'My dialog says "Are you sure?"',
    'The list shows 3 users: "are you sure?"',
    'The system prompt says "Do you want me to delete it?", reply yes or no.',
    '"Please confirm the order of 12 chairs."',
    "> Please confirm the deletion.",
    "Before I delete: “Do you confirm?”",
    'The assistant asks: "Shall I proceed?"',
    '"Do you confirm?" asks the assistant.',
    'Please look at the prompt "Are you sure?"',
    "“是否继续？”，说“是”即可。",
    "“您确定要删除吗”，回复“是”。",
    "助手问：“是否继续？”",
    'He said "OK", so are you sure?',
    'The "delete" button says "ok"; do you want me to press it?',
    "不得不等待您的确认。",
    "需不需要您的批准？",
    "读取不需要您的批准，删除需要。",
    "不等待您的确认不会执行。",
    "不是不需要您的批准。",
    "难道不需要您的批准",
    "问题：“是否继续？”",
    "也就是说：“请确认删除。”",
    "我的问题是“是否继续”。",
    "请问：“您确定要删除吗？”",
    "要不要我继续？请确认。",
    "Do not worry. Please confirm.",
    "I'm not done: please confirm.",
    "No: confirmation required.",
    "No - confirmation required!",
    "Nothing was sent, I need your approval.",
    "Not yet; waiting for your confirmation.",
    "I cannot go on. Need your approval.",
    "Don't you want me to ask? Do you want me to drop it?",
    "I have the answer to everything but I need\tyour\tapproval",
    "I don't think so; are you sure?",
    "Why not please confirm?",
    "Never mind, please confirm.",
    "没有备份，是否继续？",
    "还没完成，需要您的确认。",
    "不，需要您的批准。",
    "This isn't reversible and needs your approval.",
    "There is no need to rush, please confirm.",
    "You don't need to hurry. Please confirm.",
    "I don't have to do it. Shall I proceed?",
    "I'm not sure. Are you sure?",
    "No backups. Confirmation required.",
    "If you do not object: please confirm.",
    "I will not act; you need to confirm before I do.",
    "Nobody else can do it: I need your approval.",
    "Please don't reply with OK; please confirm with the word DELETE.",
]

EXCUSED = [
    "This does not need your approval.",
    "No confirmation required.",
    "No need to please confirm.",
    "You don't have to confirm before I read it.",
    "I'm not waiting for your confirmation.",
    'The dialog says "are you sure?" and waits.',
    '"Are you sure?" she asked.',
    'The "Please confirm" button is gone.',
    'He said "please confirm".',
    "这一步不需要您的批准。",
    "无需等待您的确认。",
    "他说：“请确认。”",
    "弹窗“您确定要删除吗”的按钮坏了。",
    "Say `please confirm`.",
    "I won't ask are you sure every time.",
    "Nothing here needs your approval.",
    "This does not require your approval.",
    "No approvals needed.",
    "I'm not awaiting your approval.",
    "不用等您确认。",
    "无需问可以继续吗。",
    "This no longer needs your approval.",
    "No further confirmations required.",
    "> Say `please confirm`.",
    "```\nplease confirm\n```",
]


@pytest.mark.parametrize("text", [*SEED_EXAMPLES, *TAKEN_FOR_MENTIONS, *IN_DOUBT])
def test_what_may_be_a_request_holds(text: str) -> None:
    assert holds(text)
    assert found_in(text), "it holds when the message has ended, too"


@pytest.mark.parametrize("text", EXCUSED)
def test_what_is_plainly_quoted_in_code_or_denied_holds_nothing(text: str) -> None:
    assert not holds(text)
    assert found_in(text) == ()


@pytest.mark.parametrize("text", SEED_EXAMPLES)
def test_every_example_of_the_seed_has_a_card(text: str) -> None:
    (found,) = found_in(f"I looked at it. {text}")
    assert (found.sentence, found.card) == (text, True)


PARTS = st.sampled_from(
    [
        " ",
        "  ",
        "\n",
        "\r\n",
        " \n\n ",
        ", ",
        " - ",
        " — ",
        "… ",
        ": ",
        " *",
        "_ ",
        "\n> ",
        ". ",
        "! ",
    ]
)
BEFORE = st.sampled_from(
    [
        "",
        "I found 3 rows. ",
        "The boss says ",
        "我找到了三行。",
        "# Next\n",
        "> ",
        "As agreed, ",
        "x\n",
    ]
)
AFTER = st.sampled_from(
    ["", ".", "?", " it.", "\nThanks", "：删除三行。", " `rm -rf`", "!", " now, OK"]
)


@st.composite
def literal(draw: st.DrawFn) -> str:
    """A phrase in any form, case, spacing and punctuation, somewhere in a text."""
    form = draw(st.sampled_from([form for phrase in ENGLISH_PHRASES for form in forms(phrase)]))
    said = "".join(word + draw(PARTS) for word in form.split()[:-1]) + form.split()[-1]
    said = "".join(char.upper() if draw(st.booleans()) else char for char in said)
    return f"{draw(BEFORE)}{said}{draw(AFTER)}"


@st.composite
def literal_in_chinese(draw: st.DrawFn) -> str:
    phrase = draw(st.sampled_from(CHINESE_PHRASES))
    said = "".join(char + draw(st.sampled_from(["", "", "", " ", "\n", "，"])) for char in phrase)
    return f"{draw(BEFORE)}{said.strip()}{draw(AFTER)}"


@given(st.one_of(literal(), literal_in_chinese()), st.data())
def test_a_literal_phrase_holds_however_it_is_written_and_split(
    text: str, data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)))))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    assert holds(*pieces)
    assert found_in(*pieces) == found_in(text) != ()
