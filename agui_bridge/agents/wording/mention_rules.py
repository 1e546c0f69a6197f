"""Words before a phrase that make a mention of it: all the rules.

In a Chinese clause, a `请` before the phrase asks, whatever else stands there.
"""

from __future__ import annotations

from agui_bridge.agents.wording.denied import DENIED
from agui_bridge.agents.wording.other_times import OTHER_TIMES
from agui_bridge.agents.wording.others import OTHERS
from agui_bridge.agents.wording.rule import Rule, preceded
from agui_bridge.agents.wording.told import TOLD

__all__ = ["BEFORE"]

_A_STATE = preceded(
    "waiting|awaiting|(?:confirmation|approval) (?:required|needed)",
    r"\b(?:from|to|as|into|marked|status|state|column|label|stage)(?: \w+)? ?[\"'“‘]?",
)
# 申请批准 is another word.
_ANOTHER_WORD = preceded("请|請", "[申报報提呈邀]")
_ADVICE = preceded(
    "请|請|please confirm",
    r"\bif [^.?!]*\b(?:doesn't|does not|still|fails?|won't|can't|cannot|isn't)\b[^.?!]*, ",
    r"(?:注意事项|注意事項|须知|須知|前提条件|操作指南|教程)[:：]",
    r"(?:出门|出門|出发|出發|登机|登機|考试|考試|出行|入住)(?:之?前)[,，]?",
)
_AN_OPEN_QUESTION = preceded(
    "do you want|do you wish|(?:shall|should|may|can) i|would you like",
    r"\b(?:what|which|where|how|when|why|who|whom|whose)(?:'s)?(?: (?!if\b|then\b)[\w-]+){0,4} ",
)
_ANOTHER_QUESTION = preceded(
    "(?:do|can|could) you (?:confirm|approve)|are you sure",
    r"\b(?:what|where|how|when|why|who) (?:exactly )?",
)
_WHETHER = preceded(
    "是否",
    r"(?:\A|[\sCLAUSE])[^请請您你CLAUSE]*"
    r"(?:检测|檢測|判断|判斷|取决于|取決於|知道|了解|清楚|记录|記錄|显示|顯示|关于|關於|讨论|討論|"
    r"不论|不論|无论|無論|不管|考虑|考慮|说明|說明|代表|表示|查看|是指|根据|根據|选择|選擇|决定|決定|"
    r"犹豫|猶豫|争论|爭論|当初|當初)[^请請CLAUSE]{0,14}",
    r"(?:检查|檢查|看看)[^请請CLAUSE]{0,14}",
)

BEFORE: tuple[Rule, ...] = (
    *DENIED,
    *TOLD,
    *OTHER_TIMES,
    *OTHERS,
    _A_STATE,
    _ANOTHER_WORD,
    _ADVICE,
    _AN_OPEN_QUESTION,
    _ANOTHER_QUESTION,
    _WHETHER,
)
"""Each makes a mention of the phrases that it is about."""
