"""The words that excuse a phrase: denials, and what tells that a quotation is somebody else's.

Texts are compared in lower case, with single spaces and without emphasis marks. Each rule is
narrow: where a request could be read as well, there must be no excuse.
"""

from __future__ import annotations

import re

from agui_bridge.agents.wording.rule import Rule, preceded

_NOT = r"\b(?:do|does|did|will)(?: not|n't)"
_ADVERB = "(?:(?:really|currently|actually|even|also|ever|any longer) )?"
_OBJECT = "(?:(?:you|for you|for anyone|for anybody) )?"
_ASKING = "(?:(?:ask|say|write|type|repeat|answer) )?"
_NO_NEED_ZH = "无需|無需|无须|無須|不用|不必|毋须|毋需|没必要|沒必要|不需要"

DENIALS: tuple[Rule, ...] = (
    # There is no need to …
    preceded(
        "",
        rf"\bno need {_OBJECT}to {_ASKING}",
        rf"{_NOT} (?:have|need) {_OBJECT}to {_ASKING}",
        rf"\b(?:needn't|need not|not necessary {_OBJECT}to) {_ASKING}",
    ),
    # I won't ask: are you sure
    preceded(
        "are you|do you|can you|could you|shall i|should i|may i|can i|would you|please|ok",
        rf"(?:\b(?:will not|won't) ask|\bwithout asking) {_OBJECT}",
    ),
    # This does not …
    preceded(
        "need your|require your",
        rf"{_NOT} {_ADVERB}",
        rf"\b(?:no longer|never) {_ADVERB}",
        r"\b(?:nothing|none)(?: of (?:this|that|these|those|it|them))?(?: here)? (?:will )?",
    ),
    preceded(
        "waiting|awaiting",
        rf"(?:\b(?:am|is|are|was|were|'m|'re|'s) not|\b(?:is|are|was|were)n't) {_ADVERB}",
        rf"{_NOT} {_ADVERB}",
        rf"\b(?:no longer|nothing is|nobody is|no one is) {_ADVERB}",
    ),
    preceded(
        "(?:confirmation|approval) (?:required|needed)",
        r"(?<![/-])(?<!or )\bno "
        r"(?:(?:further|additional|more|extra|other|explicit|manual|separate|user) )?",
    ),
    # 不需要您的批准
    preceded(
        "需要",
        r"(?<![是要会會能该該应應非需得可])(?:并不|並不|不再|不会|不會|不|没有|沒有|没|沒)(?:再)?",
    ),
    preceded("等待|等", rf"(?:不再|{_NO_NEED_ZH})(?:再|继续|繼續)?"),
    preceded("请|請", rf"(?:{_NO_NEED_ZH})再?"),
    preceded(
        "是否|你确定|您确定|确认继续|确认执行|可以|要继续|要我",
        rf"(?:不再|不会|不會|不会再|不會再|{_NO_NEED_ZH})(?:再|逐条|逐一|一一)?"
        r"(?:问|問|询问|詢問)[您你]?",
    ),
)
"""What stands right before the phrases that each is about."""

TAKEN_BACK = re.compile(
    r"[?？]|\b(?:unless|until|till|except|excluding|but|however|although|though|yet|if|"
    r"only (?:if|when|for|because)|otherwise|other than|apart from|aside from|as long as|"
    r"provided|in case|when|once|while|wish|suppose|imagine|pretend|wrong|false|untrue|lie|lying|"
    r"joking|kidding|whether|right|"
    r"correct|ok|okay)\b"
    r"|除|但|不过|不過|然而|只有|直到|如果|假如|要是|若|否则|否則|错|錯|假的|才怪|"
    r"难道|難道|怎么|怎麼|怎能|岂|豈|哪能|吗|嗎|呢|对吧|對吧"
)
"""Elsewhere in the sentence: the denial may not hold, or is a question."""

TAKEN_BACK_AFTER = re.compile(
    r"\bneeds?\b|\b(?:do|does|is|will|must)\W*\Z|(?<![不无無])需要|才|必须|必須"
)
"""After the phrase: something else is not denied."""

NEGATED = re.compile(
    r"(?:\b(?:no|not|never|nobody|nothing|neither|nor|cannot|without|hardly|doubt|deny)\b|n't\b|"
    r"[不没沒无無未非别勿否])[^,;:，；：。]*\Z"
)
"""Before a denial, in its clause: it is denied itself."""

OWN_WORDS = re.compile(
    r"\b(?:i|me|my|mine|we|us|our|ours|let|assistant|agent|please|can|could|may|shall|should|would|"
    r"want|need|as|so|now|in other words|therefore|thus|hence|meaning|reply|answer|respond|tap|"
    r"click|press|choose|yes|no)\b"
    r"|[?？我咱请請]|助手|智能体|智能體|也就是|换句话|換句話|所以|因此|那么|那麼|想问|想問|回答|答复|答覆|"
    r"点击|點擊|选择|選擇"
)
"""In the sentence around a quotation: the speaker may mean it itself, or want an answer."""

_SAYING = (
    "said|says|asked|asks|wrote|writes|reads|replied|replies|answered|shouted|whispered|muttered|"
    "repeated"
)
_NAMED = "prints|printed|shows|showed|displays|displayed|titled|entitled|labell?ed|named|called"
_THINGS = (
    "dialogs?|dialogues?|buttons?|labels?|(?:e-?)?mails?|subject line|titles?|headings?|prompts?|"
    "pop-?ups?|banners?|badges?|captions?|checkbox|phrases?|wording|messages?|cards?|modals?|screens?"
)

_THING_AND_WHERE = (
    rf"(?:[\w'-]+ ){{0,2}}(?:{_THINGS}|line|words?|text|reply|comment|note|sentence)"
    r"(?: (?:of|in|on|from|for) [\w ]{1,25})?"
)
_SAYING_ZH = "[问問说說喊](?!题|題|明)|[写寫][着著道]|询问|詢問|回复|回覆|弹出|彈出"
_THINGS_ZH = (
    "按钮|按鈕|标题|標題|弹窗|彈窗|对话框|對話框|提示|字样|字樣|卡片|页面|文字|原文|原话|一词|一詞"
)

SOURCES_BEFORE = re.compile(
    rf"(?:\b(?:{_SAYING})\b[^.!?:;]{{0,25}}[:,]?"
    rf"|\b(?:{_NAMED})(?: (?:an?|the|you|him|her|them|line|text|message|dialog)){{0,3}}[:,]?"
    rf"|\b(?:the|an?|this|that|his|her|their|its|your|[\w-]+'s) {_THING_AND_WHERE}"
    r"(?: (?:with|titled)| (?:is|was|were)[:,]?)?"
    r"|\A\W*subject:"
    rf"|(?<![请請我想要再先就是来來也])(?:{_SAYING_ZH})(?:了|过|過|着|著|道|一句|他|她|它)?[:：，,]?"
    rf"|(?:{_THINGS_ZH})(?:(?:是|为|為)[:：]?)?"
    r") ?\Z"
)
"""Right before a quotation: it is somebody else's, or the name of something."""

SOURCES_AFTER = re.compile(
    rf"[ ,]*(?:(?:[\w-]+ ){{0,4}}(?:{_SAYING})\b|(?:{_THINGS})\b)"
    rf"|[ ,，]*(?:[^ ,，。！？您你]{{1,6}}[问問说說喊](?!题|題|明)|[问問说說喊]道)"
    rf"|的?(?:{_THINGS_ZH})"
)
"""Right after it: the same."""
