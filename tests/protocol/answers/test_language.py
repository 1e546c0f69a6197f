"""The language of a question is told by its grammar, not by the names and phrases in it."""

import pytest

from agui_bridge.protocol.answers.forms import Language, language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Delete 1,234 rows?", "en"),
        ("即将删除 1,234 条记录，此操作不可逆。", "zh"),
        ("Please confirm: 即将删除 1,234 条记录", "zh"),
        ("確認要刪除 users 嗎？", "zh"),
        ("确认在 production 环境 deploy v2.0 吗", "zh"),
        ("删除 prod users 表", "zh"),
        ("Shall I send the invitation to 王伟?", "en"),
        ("Delete 张三 and 李四?", "en"),
        ("执行 `DELETE FROM users WHERE id IN (1, 2)` 吗", "zh"),
        ("Run `删除 用户 的 数据` on it?", "en"),
        ("ユーザーを削除しますか。確認してください。", "en"),
        ("", "en"),
        ("1,234?", "en"),
    ],
)
def test_the_language_is_that_of_the_grammar(text: str, language: Language) -> None:
    assert language_of(text) == language


def test_the_first_text_that_tells_a_language_counts() -> None:
    assert language_of("Y/N", ".", "我将删除它们。", "Delete them all.") == "zh"
    assert language_of("OK?", "...") == "en"
