"""Words after a phrase that make a mention of it."""

from __future__ import annotations

from agui_bridge.agents.wording.rule import ANY, NEEDS, REQUIRED, WAITS, Rule, followed

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
