"""Tells a request from a mere mention of its words: “the job was waiting for your confirmation”.

This decides whether a card is shown, and nothing else: what follows a mention is held as well
(excuses, in the same file, say what is not), and asked about when something would be carried out.

A phrase is only mentioned when the words around it, within its line, say so: it is quoted
from somebody, denied, of another time, or the name of a button; or the end of a sentence goes
through it. The rules are few, and narrow: where both can be read, it is a request. A needless card
costs a click. So a quotation that the speaker introduces as its own ("Let me ask: “Shall I
proceed?”") asks.

How well this works on text that the rules were not made for is measured by
tests/agents/sentences/test_detection.py.
"""

from __future__ import annotations

import re

from agui_bridge.agents.sentences.phrase_in_sentence import (
    ANY,
    NEAR,
    NEEDS,
    REQUIRED,
    STATEMENTS,
    WAITS,
    PhraseInSentence,
    Rule,
    followed,
    open_quote,
    preceded,
    whole_quotation,
)

# --- what excuses a phrase: after it the agent may go on to act, and nobody is asked ---
#
# Only two things do (code is not even looked at): the phrase stands in a quotation that is plainly
# somebody else's, or it is plainly denied. Whatever is in doubt holds: a request that is taken for
# something else would be carried out without an answer, while a needless hold costs a question, and
# only when the agent then acts.

_SENTENCE_END = re.compile(r"[.!?。！？]")


def is_excused(place: PhraseInSentence) -> bool:
    """Whether a phrase is quoted from somebody, or denied."""
    return _is_denied(place) or _stands_in_quotes(place)


def _is_denied(place: PhraseInSentence) -> bool:
    phrase = place.phrase.casefold()
    for denial in DENIALS:
        denied = denial.words.search(place.before) if denial.about.match(phrase) else None
        if denied is not None:
            before, after = place.before[: denied.start()], place.after
            taken_back = TAKEN_BACK.search(before) or TAKEN_BACK.search(after)
            if not (taken_back or TAKEN_BACK_AFTER.search(after) or NEGATED.search(before)):
                return True
    return False


def _stands_in_quotes(place: PhraseInSentence) -> bool:
    start = len(place.lead)
    end = start + len(place.said)
    around = whole_quotation(place.lead + place.said + place.after, start, end)
    if around is None:
        return False
    before, after = around
    before = _SENTENCE_END.split(before)[-1]
    if OWN_WORDS.search(before) or OWN_WORDS.search(after):
        return False
    return bool(SOURCES_BEFORE.search(before) or SOURCES_AFTER.match(after))


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


_DENIED = preceded(
    STATEMENTS,
    r"\bno need (?:to|for you to|for anyone to) ",
    r"\b(?:do|does|did|will|would|need|should)(?: not|n't) (?:have|need) to ",
    r"\b(?:is|are|was|were|do|does|did|will|would|ca|have|has|had|should|could)n't "
    r"(?:(?:even|ever|really|just|currently) )?",
    r"\b(?:do|does|did|will|would|can|is|are|was|were) not (?:(?:currently|yet|really) )?",
    r"\b(?:isn't|wasn't|aren't|not) (?:necessary|needed|required|obliged|supposed|meant|there)"
    r"(?: (?:for|of) [\w ]{1,20})? to ",
    r"\b(?:neither|none|nobody|no one|nothing|hardly)\b [^.?!,;:]{1,50} ",
    r"\b(?:not|never|hardly) (?:\w+ly |that (?:i|we|it) (?:\w+ )?|(?:an? \w+ of|about) )",
    r"\b(?:don't|do not|doesn't|does not) (?:think|believe|see|expect) "
    r"(?:that )?(?:your |any |an? )?",
    r"\b(?:isn't|aren't|not|none|nothing) [^.?!,;]{0,40}\b(?:that|which|who) ",
    r"\b(?:needn't|rather than|instead of|cannot|never(?: see| get| show)?|no longer|not|without) ",
    r"\bno (?:(?:further|additional|more|extra|other|explicit|manual|separate) )?",
    r"\b(?:no need|n't (?:have|need)) to [^.,;]{0,30}\bor (?:to )?",
    r"(?:不|无|無|没|没有|沒有|并不|并非|並非|未|勿|别|不用|无需|無需|无须|無須|不必|毋须|不会|不會|从不|从来不|不存在)"
    r"(?:再|是|会|會|在|正在|要|让|讓|要求|叫|用|您|你){0,4}",
    r"(?:没人|沒人|没有人|沒有人|无人|無人|谁也没|誰也沒)[^请請CLAUSE]{0,6}",
    r"\b(?:nothing|nobody|no one|none|neither)(?: of [\w ]{1,25}?| \w+)? "
    r"(?:(?:is|are|will|would|does) )?(?:(?:still|currently) )?",
    r"\b(?:isn't|is not|not) [^.,;:]{0,40}\b(?:where|when|for which|in which) i ",
    r"(?:没|没有|沒有)(?:任何|什么|什麼)[^CLAUSE]{0,8}",
)
_NO_WORDS_NEEDED = preceded(
    ANY,
    r"\b(?:won't|don't|needn't|wouldn't|didn't|doesn't|no need) (?:(?:have|need) )?to "
    r"(?:say|write|type|answer|reply|click|tell \w+)[ ,:]*[\"'“‘]?",
    r"(?:不必|不用|无需|無需|无须|不需要|别|別)[^请請CLAUSE]{0,4}[说說写寫点點回答][^请請CLAUSE]{0,4}",
)

DENIED: tuple[Rule, ...] = (
    _DENIED,
    _NO_WORDS_NEEDED,
)


_QUOTED_LINE = re.compile(r">[\s>]*(?!\*\*|__|\[!)[\w\"'“‘「(\[`<-](?!.*\bI\b)")
"""A line of a block quotation, but not of a box ("> ⚠️ Please confirm") or the speaker's own."""

_BROKEN = re.compile(r"(?<![.!?])[.!?](?![.!?])|[;；。！？｡]|\w[-/]\w")
"""In a phrase as it was said: the end of a sentence, or a name such as `are-you-sure`."""

_OWN_WORDS = re.compile(
    r"\b(?:let me|i ask|i repeat|my question|question for you|"
    r"i(?: (?:must|have to|need to|want to|should|will|would like to|now)|"
    r"'(?:ll|d like to|m going to|ve got to)))\b[^“”\"‘’「」]{0,60}\Z"
    r"|(?:我(?:想|要|需要|必须|得|再)|请问|請問)[^“”\"「」]{0,12}\Z"
)
"""Before a quotation: it is what the speaker says itself."""

_TELLING = re.compile(r"\b(?:asked|said|wrote|told|replied|answered)\b")
"""Before a quotation: it is not."""

_BEFORE = (*DENIED, *OTHER_TIMES)


def is_mention(place: PhraseInSentence) -> bool:
    """Whether a phrase seems to be mentioned, not meant."""
    before, after, phrase = place.before, place.after, place.phrase.casefold()
    line = (place.line + place.sentence)[: 2 * NEAR]
    return (
        (_BROKEN.search(place.said) is not None and _BROKEN.search(phrase) is None)
        or _QUOTED_LINE.match(line) is not None
        or any(rule.about.match(phrase) and rule.words.search(before) for rule in _BEFORE)
        or any(rule.about.match(phrase) and rule.words.match(after) for rule in AFTER)
        or _is_quoted(place.lead)
    )


def _is_quoted(before: str) -> bool:
    """Whether a quotation that is not the speaker's own holds what stands between the two."""
    opened = open_quote(before)
    if opened is None:
        return False
    place, _ = opened
    lead = before[:place].strip(" #>:,，：")
    return _TELLING.search(lead) is not None or _OWN_WORDS.search(lead) is None


AFTER: tuple[Rule, ...] = (
    # The name of something.
    followed(
        ANY,
        r"[”\"’'」』》]? (?:dialogs?|dialogues?|buttons?|prompts?|modals?|pop-?ups?|banners?|"
        r"screens?|checkbox(?:es)?|box(?:es)?|windows?|labels?|headings?|"
        r"(?:messages? )?(?:appears?|occurs?|means|is|was))\b",
        r"[”\"」』》]?的?(?:按钮|按鈕|对话框|對話框|弹窗|彈窗|提示框|字样|字樣|一词|这句话|這句話|这几个字|标签)",
    ),
    followed(
        "(?!please|kindly|can|could)",
        r" (?:e-?mails?|notes?|messages?|stamps?|cases?|state|status|stage|column|list|queue|tag|"
        r"flag|notifications?|reminders?|toast)\b",
    ),
    followed("confirm before", r" (?:you|they|he|she|anyone|everyone|people|[a-z]{3,}ing)\b"),
    followed("等|需要|是否", r"[”」]?[、/](?:已|待|未|被|审)"),
    followed("您(?:确认|批准)后", r"[^CLAUSE]{0,14}了[,，](?:上|昨|前|今早)"),
    followed(
        REQUIRED,
        r" (?:an?|(?:by|from|of)(?! you)|(?:for|in|on|with|before) (?:any|every|each|most))\b",
    ),
    followed(
        "(?:waiting for|awaiting) (?:confirmation|approval)",
        r" (?:(?:by|from|of)(?! you)|that(?! (?:i|you)\b))\b",
    ),
    followed(ANY, r"[\"”'`]? ?(?:=|:=) ?\w"),
    followed(
        WAITS,
        r" (?:numbers?|codes?|id|letters?|pages?|links?|slips?|forms?|process|chain|flows?|"
        r"workflows?|steps?|rules?)\b",
    ),
    # A count of them, or a setting.
    followed(
        WAITS,
        r"[\"”]? ?[:|：] ?(?:\d+(?=\s*(?:\Z|[.;|,，。；](?:\s|\Z)))|"
        r"(?:yes|no|true|false|always|optional)\b)",
        r" ?\d+ ?[项項个個条條件单單份](?=\Z|[,，。；])",
    ),
    followed(NEEDS, r" only\b|,? (?:in|by) (?:some|most|many|certain)\b"),
    # Somebody says it, or thinks.
    followed(ANY, r"[^.?!]{0,40}, (?:\w+ ){1,6}(?:ask(?:ed|ing|s)|said|wondere?d?|thought)\b"),
    # It is what the sentence is about.
    followed(ANY, r"[了过過](?![吗嗎])"),
    followed(
        ANY,
        r"[^。？！?]{0,60}(?:诈骗|詐騙|钓鱼|釣魚|骗局)|[^.?!]{0,60}\b(?:phishing|scam|spam)\b",
    ),
    followed(
        "请|請|是否|可以|要|您确定|需要|等",
        r"[”」』]?的(?:邮件|郵件|短信|消息|信|通知|提示|字|按钮|弹|页|请求|请示|单子|纸条|标签|步骤|流程|环节|"
        r"提醒|问题|说法|措辞|状态|时候|习惯|规定|条款|应用|权限|情况|场景|类型|循环|语气)",
    ),
    followed("您(?:确认|批准)后", r"的?第[一二三四五六七八九十两\d]+天|的(?:次日|当天|当晚|那)"),
    followed("等|需要", r"的[^。？！]{0,14}(?:已|今早|昨|上周|上個月|上个月)"),
    followed("您确定", r"的(?!话|話|是)|好(?!要)|下来|下來|之后|之前"),
    followed("您确定", r"[^我CLAUSE]{0,8}(?:之后|以后|之後|以後)(?!我)"),
    followed("[您你]?(?:确认|批准)后", r"[^我CLAUSE]{0,16}(?:了|过|過|已)"),
    followed(ANY, r"[^CLAUSE]{0,6}[,，]?(?:取决于|取決於|全看|要看)"),
    # It was answered.
    followed(
        "等待|需要",
        r"[^。？?！!]{0,14}[,，；][您你][^,，。；？?！!]{0,16}(?:点了|点过|点的|回复了|回复过|回复“|已|放行|"
        r"批准了|批了|同意了|确认了|签了)",
    ),
    followed(
        "是否",
        r"[^CLAUSE您你请請]{0,8}(?:一般|通常|往往|还不|還不|尚未|还没|還沒|不得而知|不清楚|不知道|未知|由(?!我))",
    ),
    followed("是否", r"[^CLAUSE]{0,12}[,，][^?？请請您你吗嗎]*\Z"),
)
"""Each makes a mention of the phrases that it is about."""
