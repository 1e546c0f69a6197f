"""The words of a keyword agent: what counts as a request, and what answers it, in two languages.

Source: SuperAgent's page "Interrupt/Resume" for the English phrases.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agui_bridge.protocol.answers.decisions import Answer, Cancel, Decision
from agui_bridge.protocol.answers.forms import FormField, Language
from agui_bridge.protocol.threads.records import Json

ENGLISH_PHRASES: tuple[str, ...] = (
    # Those of the seed.
    "please confirm",
    "do you confirm",
    "are you sure",
    "shall i proceed",
    "would you like me to proceed",
    "do you want to proceed",
    "do you want me to",
    "should i go ahead",
    "confirm before",
    "confirmation required",
    "waiting for your confirmation",
    "need your approval",
    # Their siblings: models use them for one another.
    "please do confirm",
    "kindly confirm",
    "can you confirm",
    "could you confirm",
    "please approve",
    "do you approve",
    "should i proceed",
    "may i proceed",
    "can i proceed",
    "shall i continue",
    "should i continue",
    "may i continue",
    "can i continue",
    "shall i go ahead",
    "may i go ahead",
    "can i go ahead",
    "ok to proceed",
    "okay to proceed",
    "do you want to continue",
    "do you wish to proceed",
    "do you wish to continue",
    "would you like to proceed",
    "would you like to continue",
    "would you like me to continue",
    "would you like me to go ahead",
    "confirmation needed",
    "approval required",
    "approval needed",
    "waiting for your approval",
    "waiting for confirmation",
    "waiting for approval",
    "waiting on your confirmation",
    "waiting on your approval",
    "awaiting your confirmation",
    "awaiting your approval",
    "awaiting confirmation",
    "awaiting approval",
    "need your confirmation",
    "need your permission",
    "need your explicit confirmation",
    "need your explicit approval",
    "require your confirmation",
    "require your approval",
)
"""What `KeywordAdapter` takes for a request to confirm, in English; in lower case."""

CHINESE_PHRASES: tuple[str, ...] = (
    "请确认",
    "请您确认",
    "请再次确认",
    "请您再次确认",
    "请批准",
    "请您批准",
    "请授权",
    "请您授权",
    "是否确认",
    "是否继续",
    "是否执行",
    "是否批准",
    "是否同意",
    "确认继续吗",
    "确认执行吗",
    "可以继续吗",
    "可以执行吗",
    "可以开始吗",
    "要继续吗",
    "要我继续吗",
    "您确定",
    "您确认后",
    "您批准后",
    "确认后我",
    "批准后我",
    "需要您的批准",
    "需要您批准",
    "需要您的确认",
    "需要您确认",
    "需要您的授权",
    "需要您授权",
    "等待您的确认",
    "等待您确认",
    "等待您的批准",
    "等待您批准",
    "等待您的授权",
    "等待您授权",
    "等您确认",
    "等您批准",
)
"""The same in Chinese; each also with 你 for 您, and in traditional characters."""

PHRASES: tuple[str, ...] = ENGLISH_PHRASES + CHINESE_PHRASES
"""What counts as a request unless the author says otherwise."""

_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True, slots=True)
class Replies:
    """What the agent is told, as a user's message.

    `{name}` in a text stands for the value of the form field of that name. Fields that were
    filled in and that the text does not name follow it, a line each.

    Attributes:
        yes: the confirm field is true.
        no: it is false, or missing.
        answered: the form has no confirm field.
        cancelled: the request was cancelled.
        expired: nobody answered in time.
        lost: it was answered, but the run that had the answer was lost.
        field: the line of a field that the text does not name: `{label}` and `{value}`.
        values: what stands for true and false in the fields.
    """

    yes: str = "Yes, I confirm. Please proceed."
    no: str = "No, I do not confirm. Do not proceed."
    answered: str = "Here is my answer."
    cancelled: str = "I cancelled your request for confirmation. Do not proceed."
    expired: str = "Your request for confirmation expired without an answer. Do not proceed."
    lost: str = (
        "I answered your request for confirmation, but the run broke off. Whether anything was "
        "done is unknown: check before you do it again."
    )
    field: str = "{label}: {value}"
    values: tuple[str, str] = ("yes", "no")

    def to_decision(self, decision: Decision, fields: Sequence[FormField]) -> str:
        """The message for what a person decided about a form.

        Args:
            decision: an Answer whose payload is an object of values by name of field, or a Cancel.
            fields: those of the form, in their order.
        """
        if isinstance(decision, Cancel):
            return self.expired if decision.cause == "expired" else self.cancelled
        payload = decision.payload if isinstance(decision, Answer) else None
        given = payload if isinstance(payload, Mapping) else {}
        confirm = _deciding(fields)
        text = self.answered
        if confirm is not None:
            text = self.yes if agrees(decision, fields) else self.no
        values = {field.name: self._value(given.get(field.name)) for field in fields}
        named = {confirm, *_PLACEHOLDER.findall(text)}
        lines = [_filled(text, values)]
        lines += [
            _filled(self.field, {"label": field.label or field.name, "value": values[field.name]})
            for field in fields
            if field.name not in named and values[field.name]
        ]
        return "\n".join(lines)

    def _value(self, value: Json) -> str:
        if isinstance(value, bool):
            return self.values[0] if value else self.values[1]
        if value is None or isinstance(value, str):
            return value or ""
        return json.dumps(value, ensure_ascii=False)


def agrees(decision: Decision, fields: Sequence[FormField]) -> bool:
    """Whether a form was answered with a yes, or at all when it has no confirm field."""
    if not isinstance(decision, Answer) or not isinstance(decision.payload, Mapping):
        return False
    confirm = _deciding(fields)
    # Whatever is not a plain yes is none.
    return confirm is None or decision.payload.get(confirm) is True


def _deciding(fields: Sequence[FormField]) -> str | None:
    return next((field.name for field in fields if field.type == "confirm"), None)


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Fill in a text once: what was filled in is not looked at again."""
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), template)


ENGLISH_REPLIES = Replies()

CHINESE_REPLIES = Replies(
    yes="是的，我确认。请继续执行。",
    no="不，我不确认。请不要执行。",
    answered="这是我的答复。",
    cancelled="我取消了您的确认请求。请不要执行。",
    expired="您的确认请求已过期，没有得到答复。请不要执行。",
    lost="我答复了您的确认请求，但运行中断了。操作是否已执行未知：再次执行之前请先检查。",
    field="{label}：{value}",
    values=("是", "否"),
)

REPLIES: Mapping[Language, Replies] = {"en": ENGLISH_REPLIES, "zh": CHINESE_REPLIES}
"""The answers by the language of the request."""
