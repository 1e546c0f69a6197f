"""Words before a phrase that deny it, or say that nobody has to say it."""

from __future__ import annotations

from agui_bridge.agents.wording.rule import ANY, STATEMENTS, Rule, preceded

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
