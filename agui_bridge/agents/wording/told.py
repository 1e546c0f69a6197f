"""Words before a phrase that tell who says it, or where it is written."""

from __future__ import annotations

from agui_bridge.agents.wording.phrase_groups import NEED, QUESTIONS, WAITS
from agui_bridge.agents.wording.rule import Rule, preceded

__all__ = ["TOLD"]

_TELLING = (
    r"\b(?:asked|asks|said|says|reads|wrote|writes|replied|replies|answered|whispered|shouted|"
    r"wondered|wondering|wonders|repeated|muttered|mumbled|prompted|prompts|stated|states|"
    r"shows|showed|displayed|flashed|saying|reading|barked|yelled|cried|"
    r"begged|hissed|growled|prints|printed|displays|outputs|returns|logs|logged|"
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
    r"\b(?:word for word|verbatim|as follows)\b[^.?!]{0,10}: ",
    r"(?:留言|来信|來信|短信|微信|原话|原話|原文|逐字)[^。？！：:]{0,6}[:：][^。？！]{0,12}",
    r"\b(?:showed|displayed|saw|heard|read)\b[^.!?]{0,30}: ",
    r"(?<![请請我想要再先访訪疑顾顧学學])(?:[问問说說写寫喊道]|回复|回覆|询问|詢問|名为|叫做|所谓)"
    r"(?:了|过|過|着|道|你|我|他|她|您|大家|自己|对方|對方)*[,，:：]? ?(?:真的|到底|究竟)?",
    r"(?<![请請我想要再先])(?:询问|詢問)[^CLAUSE]{0,6}",
    r"(?:没有|沒有|没|沒|不)再?[问問]",
    r"(?:内容|內容|原文|原话|原話|短信|标题|標題|主题|主題|正文|备注|備註|批注|留言|台词|"
    r"文案|字幕|签名|简介|意思|含义|大意|译文|标语|口号)"
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
# What somebody says, or what is written somewhere, behind a colon.
_INTRODUCED = preceded(
    QUESTIONS,
    r"\A(?!.*\b(?:i|you|we|me|your|my|let|question)\b).*(?:\b(?:wr[oi]tes?|asks?|asked|asking|carved|"
    r"painted|scrawled)(?: it)? (?:in|on|to|into|at|the|a|his|her|him|them)\b[^.?!;]{0,40}"
    r"|\b(?:is|was)): ?[\"'“‘]?",
    r"(?:\A|[。；！？])(?!.*问题)[^。；！？我你您请請咱]{2,}"
    r"(?:是|[写寫刻问問说說喊唱答道着著下]|牌子?)[:：] ?[“「\"]?",
)
_SAID_THAT = preceded(
    WAITS,
    r"\bwhether (?:i|we|you|it|they|this|that|these|those) (?:\w+ )?",
    r"是否|是不是|(?:提到|写明|寫明|注明|载明)[,，]?[^请請。？！您你]{0,16}",
    r"\b(?:says?|said|states?|stated|explains?|explained|notes?|noted|mentions?|mentioned)\b"
    r"[^.?!:;]{0,40}\bthat (?:your |the |any |an? )?",
)
_TOLD_OF_SOMEBODY = preceded(f"(?!{NEED})", *_TELLING)
# "I was told I need your approval": so it is needed.
_TOLD_OF_A_NEED = preceded(NEED, *(rf"{words}(?<!\bi )" for words in _TELLING))

TOLD: tuple[Rule, ...] = (
    _INTRODUCED,
    _SAID_THAT,
    _TOLD_OF_SOMEBODY,
    _TOLD_OF_A_NEED,
)
