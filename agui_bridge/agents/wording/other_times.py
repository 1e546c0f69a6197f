"""Words before a phrase that put it into the past, or into the future."""

from __future__ import annotations

from agui_bridge.agents.wording.rule import ANY, WAITS, Rule, preceded

_OF_ANOTHER_TIME = preceded(
    WAITS,
    r"\b(?:was|were|had been|while|after|before|stopped|been stuck|kept|did) "
    r"(?:(?:still|just|always|patiently|only) )?",
    r"\b(?:may|might|used to|(?:if|when|whenever) (?:i|we|you|they)|"
    r"(?:he|she|they|it) (?:would|will)|is there|when is|why is|if|whenever|when|unless|where) "
    r"(?:(?:ever|only|always|still) )?",
    r"(?:昨天|前天|去年|前年|上次|上周|上个月|当时|當時|曾经|曾|那时|已经|已)[^请請CLAUSE]{0,8}",
    r"(?:\A|[CLAUSE])(?:之前|以前)[^请請CLAUSE]{0,8}",
)
_TIMES = (
    "next (?:week|month|quarter|year|time)|as soon as|tomorrow|tonight|later|in (?:the )?future|"
    "going forward|from \\w+(?: \\w+)? on(?:wards)?|starting|as of|once|when|whenever|after|until|"
    "at \\d"
)
_OF_LATER = preceded(
    WAITS,
    rf"\b(?:{_TIMES})\b[^.?!;]*(?<!\bi )(?<!\bwe )\b(?:will|would)(?: \w+)? ",
    r"(?:\A|[CLAUSE])(?:以后|以後|今后|今後|将来|將來|未来|未來|到时|到時|届时|屆時)[^请請。？！]{0,30}",
    r"(?:从|從|自)[^CLAUSE]{1,12}(?:起|开始|開始)[^请請CLAUSE]{0,10}",
)
_FROM_LATER_ON = preceded(
    WAITS,
    r"(?:每次|每笔|每筆|每一|凡是|任何)[^请請。？！]{0,20}(?:都|才|就|均)(?:会|會|要)?",
    r"\A\W*(?:tomorrow|tonight|later|next (?:week|month|quarter|year|time))\b[^.?!;]*"
    r"\b(?:i|we)(?:'ll| will) ",
    r"(?:从|從|自)[^CLAUSE]{1,12}(?:起|开始|開始)[^请請。？！]{0,30}(?:会|會|将|將|都|就)",
)
_ANNOUNCED = preceded(
    ANY,
    rf"\A(?=.*\b(?:{_TIMES})\b).*\b(?:i|we|it|you)(?:'ll| will)\b.*"
    r"\b(?:ask|say|show|prompt|see|get|find|read|hear|write)\b[^.?!]{0,40}?[ ,:]+[\"'“‘]?",
    r"(?:到时|到時|届时|屆時)[^请請CLAUSE]{0,20}",
)
_OF_THE_DAY_BEFORE = preceded(
    "等|需要|是否",
    r"(?:早上|上午|中午|下午|晚上|凌晨|昨晚|今早|原来|原來|原本|本来|本來|先前)[^请請CLAUSE]{0,6}"
    r"(?:还|還|都|一直)[^请請CLAUSE]{0,6}",
)
_BACK_THEN = preceded("您(?:确认|批准)后", r"(?<!前提)是在?")

OTHER_TIMES: tuple[Rule, ...] = (
    _OF_ANOTHER_TIME,
    _OF_LATER,
    _FROM_LATER_ON,
    _ANNOUNCED,
    _OF_THE_DAY_BEFORE,
    _BACK_THEN,
)
