"""Yes and no in plain words, in English and Chinese.

A reply counts only when all of it is understood: "yes, but not the new ones" is neither. What is
left over, a question mark, or a yes beside a no, makes it no answer.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = ["read_yes_or_no"]


def _phrases(text: str) -> frozenset[str]:
    return frozenset(phrase.strip() for phrase in text.replace("\n", ",").split(",")) - {""}


_YES: Final = _phrases(
    """
    yes, y, yeah, yep, yup, sure, of course, ok, okay, confirm, confirmed, approve, approved
    agree, agreed, correct, right, absolutely, definitely, certainly, proceed, continue, go ahead
    do it, go for it, true, sounds good, that is right, that's right
    """
)
_NO: Final = _phrases(
    """
    no, n, nope, nah, no way, cancel, don't, dont, do not, don't do it, do not do it
    do not proceed, don't proceed, do not confirm, don't confirm, decline, declined, refuse
    reject, rejected, stop, abort, never, false, disagree, not now
    """
)
_FILLER: Final = _phrases("please, thanks, thank you, i, we, it, that, this")

_CHINESE_YES: Final = _phrases(
    """
    是, 是的, 对, 对的, 好, 好的, 可以, 行, 行的, 同意, 确认, 已确认, 没问题, 没错, 当然, 继续
    请继续, 执行, 批准, 對, 對的, 確認, 已確認, 沒問題, 沒錯, 當然, 繼續, 請繼續, 執行, 嗯, 要, 需要
    """
)
_CHINESE_NO: Final = _phrases(
    """
    不, 不是, 不对, 不好, 不可以, 不行, 不同意, 不确认, 不要, 不用, 不需要, 不必, 否, 别, 取消, 拒绝
    停止, 先不要, 不批准, 不执行, 不继续, 不對, 不確認, 拒絕, 別, 不執行, 不繼續
    """
)
_CHINESE_BEFORE: Final = ("我", "请", "請", "那就", "那")
_CHINESE_AFTER: Final = ("了", "吧", "啊", "的", "谢谢", "謝謝", "呀", "哦")

_CLAUSES: Final = re.compile(r"[,.;!~\u3001\u3002\n]+")
_HAN: Final = re.compile("[\u3400-\u9fff]")
_LONGEST_REPLY: Final = 200


def read_yes_or_no(text: str) -> bool | None:
    """Read a reply as yes or no.

    Returns:
        True or False, None when it is neither or both.
    """
    if len(text) > _LONGEST_REPLY:
        return None
    plain = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'").strip()
    if "?" in plain:
        return None
    found: set[bool] = set()
    for clause in filter(None, (part.strip() for part in _CLAUSES.split(plain))):
        read = _chinese(clause) if _HAN.search(clause) else _english(clause)
        if read is None:
            return None
        found |= read
    return found.pop() if len(found) == 1 else None


def _english(clause: str) -> set[bool] | None:
    """What one clause says: nothing for courtesy, None when some of it is not understood."""
    words = clause.split()
    said: list[tuple[bool, str]] = []
    at = 0
    while at < len(words):
        for length in (4, 3, 2, 1):
            phrase = " ".join(words[at : at + length])
            if phrase in _YES or phrase in _NO:
                said.append((phrase in _YES, phrase))
            elif phrase not in _FILLER:
                continue
            at += length
            break
        else:
            return None
    denials = {phrase for yes, phrase in said if not yes}
    # "Don't stop" denies a denial: it is no plain no.
    return None if len(denials) > 1 else {yes for yes, _ in said}


def _chinese(clause: str) -> set[bool] | None:
    clause = "".join(clause.split())
    for phrase in _shorter(clause):
        if phrase in _CHINESE_YES:
            return {True}
        if phrase in _CHINESE_NO:
            return {False}
        if phrase in ("谢谢", "謝謝"):
            return set()
    return None


def _shorter(clause: str) -> list[str]:
    """The clause, and what is left of it without a polite word at its ends."""
    found = [clause]
    found += [clause.removeprefix(word) for word in _CHINESE_BEFORE if clause.startswith(word)]
    for phrase in tuple(found):
        found += [phrase.removesuffix(after) for after in _CHINESE_AFTER if phrase.endswith(after)]
    return found
