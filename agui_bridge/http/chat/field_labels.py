"""A label for every field of a form: one that the agent gave, else one in the question's language.

A person who is shown a checkbox without words can't know what it is that they tick.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from agui_bridge.protocol.answers.forms import WHOLE_VALUE, FormField
from agui_bridge.protocol.answers.language import CONFIRM, Language, language_of
from agui_bridge.protocol.answers.question_schemas import DECLINED
from agui_bridge.protocol.threads.records import Interrupt

__all__ = ["with_labels"]

_OF_AN_APPROVAL: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "approved": "Approve",
        "reason": "Reason",
        "editedArgs": "Changed arguments (JSON)",
        "respond": "Result in place of the tool's",
    },
    "zh": {
        "approved": "批准",
        "reason": "理由",
        "editedArgs": "修改后的参数（JSON）",
        "respond": "代替工具结果的回复",
    },
}
_OF_A_QUESTION: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {"confirm": CONFIRM["en"], WHOLE_VALUE: "Answer", DECLINED: "I decline to answer"},
    "zh": {"confirm": CONFIRM["zh"], WHOLE_VALUE: "答复", DECLINED: "拒绝回答"},
}
_BETWEEN_WORDS: Final = re.compile(r"[_\-.\s]+|(?<=[a-z0-9])(?=[A-Z])")


def with_labels(fields: Sequence[FormField], ask: Interrupt) -> tuple[FormField, ...]:
    """The fields of a question, each with a label.

    Args:
        fields: those of its form.
        ask: the question, whose message tells the language.
    """
    language = language_of(ask.message or "")
    own = _OF_AN_APPROVAL[language] if ask.tool_call is not None else {}
    known = _OF_A_QUESTION[language]

    def labelled(field: FormField) -> FormField:
        given = own.get(field.name) or field.label.strip() or known.get(field.name)
        return replace(field, label=given or _in_words(field.name))

    return tuple(map(labelled, fields))


def _in_words(name: str) -> str:
    words = [word for word in _BETWEEN_WORDS.split(name) if word]
    text = " ".join(word if word.isupper() else word.lower() for word in words) or name
    return text[:1].upper() + text[1:]
