"""The words that make a mention of a phrase: what stands before it, or after it.

Texts are compared in lower case, with single spaces and without emphasis marks. `CLAUSE` ends a
Chinese clause: what stands beyond it says nothing about the phrase, and `请` asks in any case.
"""

from __future__ import annotations

import re

from agui_bridge.agents.wording.rule import Rule, followed, preceded

__all__ = ["AFTER", "BEFORE", "HEADINGS", "OWN_WORDS", "SPEAKER", "TOLD"]

_ANY = ""
_STATEMENT = "(?!(?:do|would|are|can|could) you|(?:shall|should|may|can) i|ok)"
_REQUIRED = "(?:confirmation|approval) (?:required|needed)"
_NEED = "need your|require your"
_WAITS = f"waiting|awaiting|{_NEED}|{_REQUIRED}|等|需要"
_NEEDS = f"{_REQUIRED}|{_NEED}"

_DENIED = preceded(
    _STATEMENT,
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
    _ANY,
    r"\b(?:won't|don't|needn't|wouldn't|didn't|doesn't|no need) (?:(?:have|need) )?to "
    r"(?:say|write|type|answer|reply|click|tell \w+)[ ,:]*[\"'“‘]?",
    r"(?:不必|不用|无需|無需|无须|不需要|别|別)[^请請CLAUSE]{0,4}[说說写寫点點回答][^请請CLAUSE]{0,4}",
)
_TELLING = (
    r"\b(?:asked|asks|said|says|reads|wrote|writes|replied|replies|answered|whispered|shouted|"
    r"wondered|wondering|wonders|repeated|muttered|mumbled|prompted|prompts|stated|states|"
    r"barked|yelled|cried|begged|hissed|growled|prints|printed|displays|outputs|returns|logs|logged|"
    r"titled|labell?ed|named|called|told|tells|reminded|reminds|"
    r"(?:planned|meant|going|supposed) to ask)"
    r"(?: (?:me|i|you|him|her|us|them|itself|himself|herself|everyone|users?|customers?|"
    r"(?:the|a|my|your|our|their) \w+|your|whether|if|that|to|for|again|and|once|twice))*[ ,:]*",
    r"(?<!i'm )(?<!\bam )(?<!\bbe )\basking (?:[\w'-]+ ){1,3}(?:to )?",
    r"\b(?:called|phoned|wrote|rang|texted|e-?mailed|messaged|posted|pinged|rings?|calls|writes|sends)\b"
    r"[^.?!]{0,40}\bto (?:say|ask|tell \w+|check)(?: that)?[ ,:]*",
    r"\b(?:something|anything|phrases?|words?|questions?|prompts?|texts?) (?:like|such as)"
    r"[ ,:]*[\"'“‘]?",
    # Somebody is to ask; not I.
    r"\A(?!.*\b(?:i|me|we|let)\b).*\bask(?: \w+){0,2}[ ,:]*[\"'“‘]?",
    r"\b(?:as if to say|with the (?:text|words?|title|label|line|heading))[ ,:]*[\"'“‘]?",
    r"\w=[\"'“]?",
    r"\b(?:never|not|always|would|might|and) say (?:that )?(?:your )?",
    r"\b(?:way (?:to (?:say|ask|put)|of saying|of asking)[\w ]{0,12}|wording|formula) "
    r"(?:is|was|would be)[ ,:]*",
    r"(?<!\bmy )\b(?:question|answer|reply|message|prompt) was[ ,:]*",
    r"\b(?:quoting|quote from|according to) [\w ]{1,30}: ",
    r"\b(?:showed|displayed|saw|heard|read)\b[^.!?]{0,30}: ",
    r"(?<![请請我想要再先访訪疑顾顧学學])(?:[问問说說写寫喊道]|回复|回覆|询问|詢問|名为|叫做|所谓)"
    r"(?:了|过|過|着|道|你|我|他|她|您|大家|自己|对方|對方)*[,，:：]? ?(?:真的|到底|究竟)?",
    r"(?<![请請我想要再先])(?:询问|詢問)[^CLAUSE]{0,6}",
    r"(?:没有|沒有|没|沒|不)再?[问問]",
    r"(?:内容|內容|原文|原话|原話|短信|标题|標題|主题|主題|正文|备注|備註|批注|留言|台词|文案|字幕|签名|简介|意思|含义|大意|译文|标语|口号)"
    r"(?:里|裡|中)?(?:是|为|為|写|寫|说|說)[:：]?[^请請CLAUSE]{0,16}",
    r"(?:原文|原话|原話|台词|字幕|大意|译文|标语|口号|上联|下联|谜面)[:：]",
    r"[写寫说說问問](?:的|着的|著的)是[:：]?[^请請。？！]{0,8}",
    r"(?:对应|對應|译为|译成|译作|翻译成|翻成|意为|等于|读作|改成了?|改为|写成)(?:的是)?[:：]?",
    r"(?:小说|小說|台词|台詞|旁白|歌词|文案|[第末][一二三四五六七八九十]*[段句])[^请請。？！]{0,8}"
    r"(?:改成|改为|写成|写作)了?[:：][^请請。？！]{0,30}",
    r"[发發](?:来|來)?(?:了|过)?(?:短信|消息|邮件|郵件|通知)[^请請CLAUSE]{0,4}",
    r"(?:如果|若|假如|一旦|只要|每当|每當)[^请請CLAUSE]{0,12}"
    r"(?:提示|显示|顯示|弹出|彈出|出现|出現|跳出|[问問]|要求)[^请請CLAUSE]{0,4}",
    r"(?:会|會|将|將)[^请請CLAUSE]{0,12}[问問](?:一?[句下声聲])?[您你]?",
    r"我[问問][了过過](?:你|他|她|您|大家)?[,，:：]?",
    r"[个個]大?字(?:——|[,，])",
    r"(?:[个個]大?字|闪烁|閃爍|闪着|写着|寫著|印着|跳出|刻着)[:：]",
    r"(?:\A|\s)[甲乙丙丁][:：] ?",
)
_TOLD_OF_SOMEBODY = preceded(f"(?!{_NEED})", *_TELLING)
# "I was told I need your approval": so it is needed.
_TOLD_OF_A_NEED = preceded(_NEED, *(rf"{words}(?<!\bi )" for words in _TELLING))
_OF_ANOTHER_TIME = preceded(
    _WAITS,
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
    _WAITS,
    rf"\b(?:{_TIMES})\b[^.?!;]*(?<!\bi )(?<!\bwe )\b(?:will|would)(?: \w+)? ",
    r"(?:\A|[CLAUSE])(?:以后|以後|今后|今後|将来|將來|未来|未來|到时|到時|届时|屆時)[^请請。？！]{0,30}",
    r"(?:从|從|自)[^CLAUSE]{1,12}(?:起|开始|開始)[^请請CLAUSE]{0,10}",
)
_FROM_LATER_ON = preceded(
    _WAITS,
    r"\A\W*(?:tomorrow|tonight|later|next (?:week|month|quarter|year|time))\b[^.?!;]*"
    r"\b(?:i|we)(?:'ll| will) ",
    r"(?:从|從|自)[^CLAUSE]{1,12}(?:起|开始|開始)[^请請。？！]{0,30}(?:会|會|将|將|都|就)",
)
_ANNOUNCED = preceded(
    _ANY,
    rf"\A(?=.*\b(?:{_TIMES})\b).*\b(?:i|we|it|you)(?:'ll| will)\b.*"
    r"\b(?:ask|say|show|prompt|see|get|find|read|hear|write)\b[^.?!]{0,40}?[ ,:]+[\"'“‘]?",
    r"(?:到时|到時|届时|屆時)[^请請CLAUSE]{0,20}",
)
_OF_THE_DAY_BEFORE = preceded(
    "等|需要|是否",
    r"(?:早上|上午|中午|下午|晚上|凌晨|昨晚|今早|原来|原來|原本|本来|本來|先前)[^请請CLAUSE]{0,6}"
    r"(?:还|還|都|一直)[^请請CLAUSE]{0,6}",
)
_OTHERS = (
    "hr|legal|lawyers?|people who|those who|(?:customer|supplier|seller|buyer|vendor|bank|insurer|"
    "client|manager|director|colleague|landlord|tenant|doctor|airline|hotel|school)s?|company|"
    "department|office|team|partner|carrier|court|council|government|board|editor|warehouse|"
    "courier|driver|contractor|recipient|applicant|author"
)
_OF_SOMEBODY_ELSE = preceded(
    _WAITS,
    rf"\b(?:{_OTHERS})(?:'s? [\w ]{{1,20}})?(?: in \w+)? (?:(?:is|are) )?(?:still )?",
    r"(?:部|公司|方面|律师|律師|客户|客戶|老师|老師|那边|那邊)(?:那边|那邊)?[还還正]?在?",
)
_OF_ANOTHERS = preceded(
    _REQUIRED,
    r"\b(?:their|his|her|its|my|our|[\w-]+'s) (?:\w+ )?",
    r"(?:\A|[.?!] )\W*(?:is|are|was|were) (?:any |an? |your |user )?",
)
# "An order that is waiting for confirmation".
_OF_A_KIND = preceded(
    _WAITS,
    r"\b(?:an?|any|every|each|those|all) [\w '-]{1,30}\b(?:that|which|who)(?: (?:is|are|still))* ",
    r"\b(?:when|whenever|if|while|as long as) (?:an?|any|some|the|your|such) [^.?!,;]{1,40} "
    r"(?:(?:is|are) )?(?:still )?",
)
_OTHERS_CONFIRM = preceded(
    "(?:确认|批准)后我",
    r"(?:他|她|客户|客戶|老板|老闆|经理|經理|对方|對方|法务|财务|部|方|总|總|主任|医生|老师|老師)"
    r"(?:们|們|那边|那邊)?(?:先)?",
)
_BACK_THEN = preceded("您(?:确认|批准)后", r"(?<!前提)是在?")
# 申请批准 is another word.
_ANOTHER_WORD = preceded("请|請", "[申报報提呈邀]")
_ADVICE = preceded(
    "请|請|please confirm",
    r"\bif [^.?!]*\b(?:doesn't|does not|still|fails?|won't|can't|cannot|isn't)\b[^.?!]*, ",
    r"(?:注意事项|注意事項|须知|須知|前提条件|操作指南|教程)[:：]",
    r"(?:出门|出門|出发|出發|登机|登機|考试|考試|出行|入住)(?:之?前)[,，]?",
)
_A_CUSTOM = preceded(
    _NEEDS,
    r"\b(?:always|usually|never|normally|typically|often|users?|they|customers?|admins?|people|"
    r"everyone|teams?|engineers?|operators?|he|she|systems?|apps?|sites?|websites?|browsers?|"
    r"banks?|airlines?|merchants?|laws?|companies|firms|employers|shops|doctors|hospitals|schools|"
    r"landlords|insurers|authorities|(?:he|she|they)(?:'d| would)|"
    r"(?:most|many|certain) (?:[\w-]+ ){0,2}[\w-]+s) (?:that |which )?"
    r"(?:(?:must|should|have to|need to|can|will|may) )?(?:always )?",
)
_OF_THOSE_WHO_CONFIRM = preceded(
    "confirm before",
    r"(?<!\bplease )(?<!\bkindly )(?<!\bthen )(?<!\band )(?<!\bso )(?<!\byou to )(?<!\byou must )"
    r"(?<!(?<!made )(?<!makes )\byou )(?<!\byou should )(?<!\bneed to )"
    r"(?<!\byou have to )(?<!'ll have to )(?<!\bsure to )(?<!\bremember to )(?<=\w )",
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
    _DENIED,
    _NO_WORDS_NEEDED,
    _TOLD_OF_SOMEBODY,
    _TOLD_OF_A_NEED,
    _OF_ANOTHER_TIME,
    _OF_LATER,
    _FROM_LATER_ON,
    _ANNOUNCED,
    _OF_THE_DAY_BEFORE,
    _OF_SOMEBODY_ELSE,
    _OF_ANOTHERS,
    _OF_A_KIND,
    _OTHERS_CONFIRM,
    _BACK_THEN,
    _ANOTHER_WORD,
    _ADVICE,
    _A_CUSTOM,
    _OF_THOSE_WHO_CONFIRM,
    _AN_OPEN_QUESTION,
    _ANOTHER_QUESTION,
    _WHETHER,
)
"""Each makes a mention of the phrases that it is about."""

AFTER: tuple[Rule, ...] = (
    # The name of something.
    followed(
        _ANY,
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
        _REQUIRED,
        r" (?:an?|(?:by|from|of)(?! you)|(?:for|in|on|with|before) (?:any|every|each|most))\b",
    ),
    followed(
        "(?:waiting for|awaiting) (?:confirmation|approval)",
        r" (?:(?:by|from|of)(?! you)|that(?! (?:i|you)\b))\b",
    ),
    followed(_ANY, r"[\"”'`]? ?(?:=|:=) ?\w"),
    # A count of them, or a setting.
    followed(
        _WAITS,
        r"[\"”]? ?[:|：] ?(?:\d+(?=\s*(?:\Z|[.;|,，。；](?:\s|\Z)))|"
        r"(?:yes|no|true|false|always|optional)\b)",
        r" ?\d+ ?[项項个個条條件单單份](?=\Z|[,，。；])",
    ),
    followed(_NEEDS, r" only\b|,? (?:in|by) (?:some|most|many|certain)\b"),
    # Somebody says it, or thinks.
    followed(_ANY, r"[^.?!]{0,40}, (?:\w+ ){1,6}(?:ask(?:ed|ing|s)|said|wondere?d?|thought)\b"),
    # It is what the sentence is about.
    followed(_ANY, r"[了过過](?![吗嗎])"),
    followed(
        _ANY,
        r"[^。？！?]{0,60}(?:诈骗|詐騙|钓鱼|釣魚|骗局)|[^.?!]{0,60}\b(?:phishing|scam|spam)\b",
    ),
    followed(
        "请|請|是否|可以|要|您确定|需要",
        r"[”」』]?的(?:邮件|郵件|短信|消息|信|通知|提示|字|按钮|弹|页|请求|请示|单子|纸条|标签|步骤|流程|环节|"
        r"提醒|问题|说法|措辞|状态|时候|习惯|规定|条款|应用|权限|情况|场景|类型|循环|语气)",
    ),
    followed("您确定", r"的(?!话|話|是)|好(?!要)|下来|下來|之后|之前"),
    followed("您确定", r"[^我CLAUSE]{0,8}(?:之后|以后|之後|以後)(?!我)"),
    followed("[您你]?(?:确认|批准)后", r"[^我CLAUSE]{0,16}(?:了|过|過|已)"),
    followed(_ANY, r"[^CLAUSE]{0,6}[,，]?(?:取决于|取決於|全看|要看)"),
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
"""The same for what follows them."""

OWN_WORDS = re.compile(
    r"\b(?:let me|i ask|i repeat|my question|question for you|"
    r"i(?: (?:must|have to|need to|want to|should|will|would like to|now)|"
    r"'(?:ll|d like to|m going to|ve got to)))\b[^“”\"‘’「」]{0,60}\Z"
    r"|(?:我(?:想|要|需要|必须|得|再)|请问|請問)[^“”\"「」]{0,12}\Z"
)
"""Before a quotation: it is what the speaker says itself."""

TOLD = re.compile(r"\b(?:asked|said|wrote|told|replied|answered)\b")
"""Before a quotation: it is not."""

SPEAKER = re.compile(
    r"(?:\A|\s)(?P<name>[A-Z][A-Z-]{2,}): ?\Z|\A>[>\s]*\*\*(?P<bold>[\w ]+):\*\* ?\Z"
    r"|\A\W*(?P<role>[QA]|Nurse|Patient|Doctor|Teacher|Student|Pupil|Customer|Clerk|Waiter|Guest|"
    r"Client|Host|Interviewer|Caller|Pilot|Tower|Captain|Judge|Lawyer|Mother|Father|Son|Daughter|"
    r"Boss|Employee|Seller|Buyer|Robot|护士|病人|患者|医生|老师|学生|顾客|客户|客服|店员|主持人|嘉宾|"
    r"旁白|法官|律师|记者|爸爸|妈妈|[问答甲乙丙丁])\*{0,2}[:：]\*{0,2} ?\Z"
)
"""Before a line of a play or a chat: who says it. Here case and emphasis count."""

HEADINGS = re.compile(
    r"note|warning|caution|important|attention|urgent|alert|reminder|question|next|final|todo|"
    r"step.*|action.*|confirm.*|approv.*|pending.*|heads.*|please.*|.*required"
)
"""What looks like a speaker's name and is none, in lower case."""
