"""The language in which people are asked, English or Chinese: what they are shown beside is in it.

A sentence of one language often has words of the other: names of tables and people, or a phrase
that an agent was told to use ("Please confirm: 即将删除 1,234 条记录"). So its grammar counts
first, that is particles, pronouns and punctuation; where it has none, which words are more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

__all__ = ["CONFIRM", "Language", "language_of"]

Language = Literal["en", "zh"]

CONFIRM: Final[Mapping[Language, str]] = {"en": "Confirm", "zh": "确认"}
"""The label of a form's only field, where it asks for a yes."""

_CODE: Final = re.compile("`+[^`]*`+")
_HAN: Final = re.compile("[\u3400-\u9fff]")
_KANA: Final = re.compile("[\u3040-\u30ff]")
_WORD: Final = re.compile("[A-Za-z][A-Za-z'\u2019]*")
_CHINESE_GRAMMAR: Final = re.compile(
    "[的了吗嗎呢吧是否请請把将將要您你我们們这這那在和与與或被给給对對从從不，。？！；：、]"
)
_ENGLISH_GRAMMAR: Final = frozenset(
    _WORD.findall(
        """
        a an and are as at be before by can could do does for from has have i if in into is it may
        me my of on or shall should that the their them then these this those to was we what when
        which will with would you your
        """
    )
)
_WORDS_THAT_TELL: Final = 2


def language_of(*texts: str) -> Language:
    """The language of the first text that has one; English where none has.

    Args:
        *texts: what people are asked, and what stood around it. Code in them does not count.
    """
    return next(filter(None, map(_told_by, texts)), "en")


def _told_by(text: str) -> Language | None:
    text = _CODE.sub(" ", text)
    words = [word.lower() for word in _WORD.findall(text)]
    english = sum(word in _ENGLISH_GRAMMAR for word in words)
    han = len(_HAN.findall(text))
    # Japanese has no words here.
    if not han or _KANA.search(text):
        plain = sum(len(word) > 1 for word in words)
        return "en" if english or plain >= _WORDS_THAT_TELL else None
    chinese = len(_CHINESE_GRAMMAR.findall(text))
    if chinese != english:
        return "zh" if chinese > english else "en"
    return "zh" if han >= len(words) else "en"
