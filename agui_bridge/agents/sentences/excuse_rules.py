"""The words that excuse a phrase: denials, and what tells that a quotation is somebody else's.

Texts are compared in lower case, with single spaces and without emphasis marks. Each rule is
narrow: where a request could be read as well, there must be no excuse.
"""

from __future__ import annotations

import re

from agui_bridge.agents.sentences.mention_rules import Rule, preceded

__all__ = ["DENIALS", "FIRST_PERSON", "NEGATED", "SOURCES_AFTER", "SOURCES_BEFORE", "TAKEN_BACK"]

_AUXILIARY_NOT = r"\b(?:do|does|did|will|would)(?: not|n't)"
_ADVERB = "(?:(?:really|currently|actually|even|also|ever|any longer) )?"
_OBJECT = "(?:(?:you|for you|for anyone|for anybody) )?"
_ASKING = "(?:(?:ask|say|write|type|repeat|answer) )?"
_NO_NEED_ZH = "无需|無需|无须|無須|不用|不必|毋须|毋需|没必要|沒必要|不需要"

DENIALS: tuple[Rule, ...] = (
    # No need to …
    preceded(
        "",
        rf"\bno need {_OBJECT}to {_ASKING}",
        rf"{_AUXILIARY_NOT} (?:have|need) {_OBJECT}to {_ASKING}",
        rf"\b(?:needn't|need not|not necessary {_OBJECT}to) {_ASKING}",
    ),
    # I won't ask: are you sure
    preceded(
        "are you|do you|shall i|should i|would you|please",
        rf"(?:\b(?:will not|won't)|\bwithout) (?:ask|asking) {_OBJECT}",
    ),
    # This does not …
    preceded(
        "need your",
        rf"{_AUXILIARY_NOT} {_ADVERB}",
        rf"\b(?:no longer|never) {_ADVERB}",
        r"\b(?:nothing|none)(?: of (?:this|that|these|those|it|them))?(?: here)? (?:will |would )?",
    ),
    preceded(
        "waiting for your",
        rf"(?:\b(?:am|is|are|was|were|'m|'re|'s) not|\b(?:is|are|was|were)n't) {_ADVERB}",
        rf"{_AUXILIARY_NOT} {_ADVERB}",
        rf"\b(?:no longer|never|nothing is|nobody is|no one is|without) {_ADVERB}",
    ),
    preceded(
        "confirmation required",
        r"\bno (?:(?:further|additional|more|extra|other|explicit|manual|separate|user) )?",
    ),
    # 不需要您的批准
    preceded(
        "需要|等待",
        r"(?<![是要会會能该該应應非需得可])"
        r"(?:并不|並不|不再|不会|不會|不|没有|沒有|没|沒|未|无|無|"
        rf"{_NO_NEED_ZH})(?:再|在)?",
    ),
    preceded("请|請", rf"(?:{_NO_NEED_ZH})再?"),
    preceded(
        "是否|你确定|您确定|确认继续",
        rf"(?:不再|不会|不會|不会再|不會再|不|{_NO_NEED_ZH})(?:再|逐条|逐一|一一)?"
        r"(?:问|問|询问|詢問)[您你]?",
    ),
)
"""What stands right before the phrases that each is about."""

TAKEN_BACK = re.compile(
    r"[?？]|\b(?:unless|until|till|except|excluding|but|however|although|though|yet|(?<!-)only|if|"
    r"otherwise|wish|suppose|imagine|pretend|wrong|false|untrue|lie|lying|joking|kidding|whether)\b"
    r"|除非|除了|但|不过|不過|然而|只有|直到|如果|假如|要是|若|否则|否則|错|錯|假的|"
    r"难道|難道|怎么|怎麼|怎能|岂|豈|哪能|吗|嗎|呢"
)
"""Elsewhere in the sentence: the denial may not hold, or is a question."""

NEGATED = re.compile(
    r"(?:\b(?:no|not|never|nobody|nothing|neither|nor|cannot|without|hardly|doubt|deny)\b|n't\b|"
    r"[不没沒无無未非别勿否])[^,;:，；：。]*\Z"
)
"""Before a denial, in its clause: it is denied itself."""

FIRST_PERSON = re.compile(
    r"(?:\b(?:i|me|my|mine|we|us|our|ours|let)\b|我|咱|请问|請問)[^.!?。！？]*\Z"
)
"""In the sentence before a quotation: it may be what the speaker says itself."""

SOURCES_BEFORE = re.compile(
    r"(?:\b(?:said|says|say|saying|asked|asks|asking|wrote|writes|written|reads|replied|replies|"
    r"answered|printed|prints|shows|shown|showed|displays|displayed|titled|entitled|labell?ed|"
    r"named|called|phrased|worded|shouted|whispered|muttered|repeated|posted|"
    r"dialogs?|dialogues?|buttons?|labels?|(?:e-?)?mails?|subject|titles?|headings?|prompts?|"
    r"pop-?ups?|banners?|badges?|captions?|checkbox|phrases?|wording|words?|term|text|template|"
    r"comment|translation|transcript|log|logs|screen|screenshot|manual|runbook|docs)\b"
    r"|[说說问問喊道]|[写寫][着著道]|留言|原文|原话|提示|弹出|彈出|弹窗|彈窗|按钮|按鈕|标题|標題|"
    r"邮件|郵件|短信|日志|日誌|对话框|對話框|字样|字樣|文案|译为|譯為|翻译|措辞|手册|手冊|文档|文檔"
    r")[^.!?。！？]{0,60}\Z"
)
"""In the sentence before a quotation: it is somebody else's."""

SOURCES_AFTER = re.compile(
    r"[ ,]*(?:(?:\w+ ){0,4}(?:said|says|asked|asks|whispered|shouted|wrote|muttered|replied)\b"
    r"|(?:dialogs?|dialogues?|buttons?|labels?|(?:e-?)?mails?|titles?|headings?|prompts?|pop-?ups?|"
    r"banners?|badges?|checkbox|screens?|messages?|modals?|cards?)\b)"
    r"|[ ,，]*[^ ,，。！？我]{0,6}(?:[问問说說喊]道?|回复|回覆)"
    r"|的?(?:按钮|按鈕|标题|標題|弹窗|彈窗|对话框|對話框|提示|字样|字樣|卡片|页面)"
)
"""Right after it: the same."""
