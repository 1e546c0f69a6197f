"""What the lines above make of a sentence: a piece written for others, or the agent's own word.

An agent that was asked for a letter, a poem, a scene or a list of terms writes it into its answer,
and what such a piece asks, it does not ask the user. Its beginning shows, its end often does not:
so each kind has an end that comes soon rather than late.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

__all__ = ["Setting"]

_NEAR = 160

_Kind = Literal["own", "line", "paragraph", "terms", "letter", "scene"]
_PIECES = (
    "draft|letter|notice|announcement|invitation|template|verse|stanza|song|lyrics|screenplay|chorus|refrain|"
    "monologue|speech|chapter|role-play|transcript|excerpt|quotation"
)
_TALES = "poem|haiku|limerick|sonnet|story|tale|fable|joke|sketch|scene|dialogue"
_TERMS = "glossary|definitions|legend|terminology|abbreviations"
_PIECES_ZH = (
    "草稿|初稿|拟好|擬好|拟了|擬了|写好|寫好|写了|寫了|邀请函|模板|范文|诗|詩|俳句|歌词|歌詞|"
    "故事|童话|寓言|笑话|笑話|段子|小品|短剧|短劇|剧本|劇本|台词|对白|對白|开场白|開場白|片段|独白|演讲|"
    "演講|节选|摘录|引文"
)
_TERMS_ZH = "名词解释|名詞解釋|术语|術語|词汇|詞彙|图例|缩写"

_OPENINGS: tuple[tuple[_Kind, re.Pattern[str]], ...] = (
    # INT. BUNKER - NIGHT; Chapter 3; 【控制室 夜】
    (
        "scene",
        re.compile(
            r"\A[#\s]*(?:(?:int|ext)\.(?: .*)?|(?:chapter|act|scene) (?:\d+|[ivx]+|one|two|three)\b"
            r"[^.?!]{0,40}|第[一二三四五六七八九十百\d]+[章幕场場回节節][^。？！]{0,20}"
            r"|【(?:[^】]*[ ，、·]?[日夜晨昏]|第.[幕场場])】[^。？！]{0,12}[。]?)\s*\Z"
        ),
    ),
    # Dear all, …; 各位租客：…
    (
        "letter",
        re.compile(
            r"\A\W*dear (?:all|everyone|everybody|team|colleagues|neighbou?rs|friends|guests|"
            r"parents|tenants|residents|members|customers|students|folks|ladies|sir|madam)\b"
            r"|\A\W*to whom it may concern|\A\W*(?:尊敬的)?(?:各位|诸位|諸位|全体|全體|大家好)"
        ),
    ),
    # Here's a draft for your tenants:
    (
        "paragraph",
        re.compile(
            rf"\b(?:{_PIECES}|{_TALES})\b[^.?!:]{{0,60}}:\s*\Z"
            r"|\b(?:e-?mail|message|reply|text|post)\b[^.?!:]{0,30}\bi(?:'ve| have)? "
            r"(?:wrote|written|drafted|prepared|sent)\b[^.?!:]{0,40}:\s*\Z"
            r"|\bi(?:'ve| have)? (?:wrote|written|drafted|prepared|sent)\b[^.?!:]{0,40}:\s*\Z"
            rf"|(?:{_PIECES_ZH})[^。？！：:]{{0,16}}(?:[：:]|——)\s*\Z"
        ),
    ),
    ("terms", re.compile(rf"\b(?:{_TERMS})\W*\Z|(?:{_TERMS_ZH})表?\W*\Z")),
    (
        "line",
        re.compile(
            rf"\A\W*(?:here(?:'s| is| are)|this is) (?:[\w'-]+ ){{0,4}}(?:{_TALES})\b"
            r"[^.?!:]{0,40}: "
            # The telegram that somebody reads; not the agent.
            r"|\A(?!.*\b(?:i|you|we|your|my)\b).*\b(?:read|unfolded)(?: \w+){0,2} "
            r"(?:telegram|letter|note|postcard)\b"
            r"|\A\W*(?:once upon a time|once there (?:was|were)|long ago|in the dream)\b"
            r"|\A\W*(?:从前|很久以前|话说|話說)"
        ),
    ),
)
_TALE = re.compile(
    r"\A(?!.*\b(?:i|you|we|your|my)\b)\W*(?:s?he|they) (?:typed|looked|stared|whispered|sighed|"
    r"smiled|nodded|leaned|lit|wept|laughed|stood|sat|knelt)\b"
)
"""The first sentence of a message that is about somebody whom nobody has named."""

_TERMINAL = re.compile(r"\A\s*(?:\$ |>>> |ps [a-z]:\\|c:\\)\S*")
"""What was typed at a prompt: what follows it at once is what came out."""

_GREETING = re.compile(
    r"\A\W*(?:dear|hi|hello|hey|to|subject)\b|\A\W*(?:亲爱的|親愛的|尊敬的|致|主题|主題)"
    r"|\A[^，。,]{1,8}(?:您好|你好)"
)
_FAREWELL = re.compile(
    r"\A\W*(?:(?:kind|best|warm|many)? ?(?:regards|wishes)|best\b|love\b|sincerely|yours|cheers|"
    r"thanks|thank you|此致|敬礼|敬禮|祝好|谢谢|謝謝)|\A\W*-{3,}\s*\Z"
)
_SENDING = re.compile(
    r"\b(?:send|sends|sent|publish|post)\b|\b(?:shall|should|may|can) i\b|\b(?:want|like) me to\b|"
    r"[发發](?!票|现|現|生|货|貨)"
)
"""In a sentence under a letter: it is about what becomes of the letter."""

_FACT = re.compile(r"\A\s*(?:[-*+•|] |\d+[.)])")
"""The line of a list or table: where it follows at once, no piece was announced."""

_RULER = re.compile(r"\A\s*(?:-{3,}|\*{3,}|={3,})\s*\Z")


@dataclass(frozen=True, slots=True)
class Setting:
    """What the sentence that comes next stands in.

    Attributes:
        kind: the agent's own word, or the piece for others.
        begun: of a piece that was announced: whether it has a line.
        first: whether nothing was said before.
    """

    kind: _Kind = "own"
    begun: bool = False
    first: bool = True

    @property
    def for_others(self) -> bool:
        """Whether it is part of a piece for others."""
        return self.kind != "own"

    def after(self, sentence: str, line: str) -> Setting:
        """The setting after a sentence, given what stands before it on its line."""
        said = _near(sentence)
        first, began = self.first, not line.strip()
        if self.kind == "scene" and _RULER.match(said):
            return Setting(first=False)
        if self.kind == "letter" and began and _FAREWELL.match(said):
            return Setting("line", first=False)
        if self.kind in ("scene", "letter", "line"):
            return self
        opened = next((kind for kind, words in _OPENINGS if words.search(said)), None)
        if began and _TERMINAL.match(said):
            return Setting("paragraph", begun=True, first=False)
        if self.kind in ("paragraph", "terms"):
            if opened in ("scene", "letter"):
                return Setting(opened, first=False)
            if not self.begun and self.kind == "paragraph" and _FACT.match(said):
                return Setting(first=False)
            if not self.begun and _GREETING.match(said):
                return Setting("letter", first=False)
            return self if self.begun else replace(self, begun=True)
        if opened is None and first and _TALE.search(said):
            opened = "line"
        return Setting(opened or "own", first=False)

    def after_line(self, blank: bool) -> Setting:
        """The setting after the end of a line."""
        if self.kind == "line" or (blank and self.begun):
            return Setting(first=False)
        return self

    def of(self, sentence: str) -> bool:
        """Whether a sentence that begins here is part of a piece, by itself or by the setting."""
        if self.kind == "letter":
            return not _SENDING.search(_near(sentence))
        if self.for_others:
            return self.kind != "paragraph" or self.begun or not _FACT.match(_near(sentence))
        said = _near(sentence)
        return any(
            kind in ("letter", "line") and words.search(said) is not None
            for kind, words in _OPENINGS
        )


def _near(sentence: str) -> str:
    text = re.sub(r"[*_]", "", sentence[:_NEAR]).lower().replace("’", "'")
    if len(sentence) > _NEAR:
        text += re.sub(r"[*_]", "", sentence[-_NEAR:]).lower()
    return text
