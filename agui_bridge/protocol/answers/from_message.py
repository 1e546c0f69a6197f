"""A message of a person made into the payload of a question, by rule.

| what the schema asks for | what is understood |
|---|---|
| `boolean` | yes and no in English and Chinese; a yes may say again what was asked |
| `enum`, `const` | the option itself, whatever its case |
| `number`, `integer` | a number alone, also with thousands separators |
| `string` of format `date` | 2026-11-21, 2026/11/21, 2026年11月21日, 21 November 2026 |
| `string` of format `date-time` | a date and a time as in ISO 8601 |
| any other `string` | the whole message |

The schema asks for one such value, or is an object with one such property that must be filled in,
or with one property at all. Nothing is guessed: a message that says more than the answer is none.

Source: Mastra's page "Network Approval"; docs/contract.md, "Auto-resume".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from agui_bridge.protocol.answers.decisions import Answer
from agui_bridge.protocol.answers.forms import (
    WHOLE_VALUE,
    FormField,
    fields_from_schema,
    payload_from_input,
    resolve_schema,
)
from agui_bridge.protocol.threads.records import Json

# --- yes and no in plain words, in English and Chinese ---
#
# A reply counts only when all of it is understood: "yes, but not the new ones" is neither. What is
# left over, a question mark, or a yes beside a no, makes it no answer. A yes may say again what was
# asked: `restated.py`.


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
_COURTEOUS: Final = re.compile("(please|thanks|thank you|谢谢|謝謝)+")
_LONGEST_REPLY: Final = 200


def read_yes_or_no(text: str, question: str = "") -> bool | None:
    """Read a reply as yes or no.

    Args:
        text: the reply.
        question: what was asked; a yes may say it again.

    Returns:
        True or False, None when it is neither or both.
    """
    if len(text) > _LONGEST_REPLY:
        return None
    plain = _plain_words(text)
    if "?" in plain:
        return None
    found: set[bool] = set()
    for clause in filter(None, (part.strip() for part in _CLAUSES.split(plain))):
        read = _chinese(clause) if _HAN.search(clause) else _english(clause)
        if read is None:
            return _restated(plain, _plain_words(question)) or None
        found |= read
    return found.pop() if len(found) == 1 else None


def _plain_words(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'").strip()


def _restated(reply: str, question: str) -> bool:
    """Whether a reply begins with a yes, and only says again what was asked."""
    clauses = clauses_of(reply)
    yes = False
    while clauses:
        clause = clauses[0]
        read = _chinese(clause) if _HAN.search(clause) else _english(clause)
        if read is None:
            break
        if False in read:
            return False
        yes = yes or True in read
        clauses.pop(0)
    if clauses and not yes:
        rest = _after_yes(clauses[0])
        if rest is None:
            return False
        clauses[0] = rest
    # Courtesy may end it.
    while clauses and _COURTEOUS.fullmatch(clauses[-1]):
        clauses.pop()
    return restates(clauses, question)


def _after_yes(clause: str) -> str | None:
    """What follows the yes that a clause begins with; None if it begins with none."""
    if _HAN.search(clause):
        clause = "".join(clause.split())
        found = [yes for yes in _CHINESE_YES if len(yes) > 1 and clause.startswith(yes)]
        return clause[len(max(found, key=len)) :] if found else None
    words = clause.split()
    for length in (4, 3, 2, 1):
        if " ".join(words[:length]) in _YES:
            return " ".join(words[length:]).removeprefix("and ")
    return None


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


# --- a yes that says again what was asked: "Yes, please delete them", 是的，请删除 ---
#
# It counts when all of it is understood: a plain yes first, and after it the question's own verb,
# with its whole object, a pronoun, or nothing. A part of the object, or a word that the question
# has not, might narrow or change what was asked. So might any word beside a yes to a question that
# offers a choice, denies, or says several things: there none is understood.

_RESTATED_CLAUSES: Final = re.compile(r"[,;:!?~\n\u3001\u3002]+|\.(?!\w)")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3})")

# --- English ---

_LEADS: Final = re.compile(
    r"""(
        please | (please\s+)? (confirm|approve) (\s+(that|to))? | go\s+ahead\s+and
        | (shall|should|may|can|could) \s+ (i|we) | (is\s+it\s+)? ok(ay)? \s+ to
        | (do\s+you | you) \s+ want (\s+(me|us))? \s+ to | would\s+you\s+like (\s+(me|us))? \s+ to
        | are\s+you \s+ ((absolutely|really)\s+)? sure \s+ ((that\s+)?you\s+want\s+)? to
        | (i|we) (\s+will|'ll|\s+am\s+going\s+to|\s+are\s+going\s+to) (\s+now)?
    ) (\s+|\Z)""",
    re.VERBOSE,
)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_DETERMINERS: Final = _words("the a an my your our this that these those")
_PRONOUNS: Final = _words("it them this that these those all")
_NO_VERBS: Final = _words(
    """
    is are was were am be do does did has have had will would it there i we you he she they the a
    this that these those what which who when where why how
    """
)
_COURTESY: Final = _words("please thanks now")
_OPEN: Final = frozenset(
    _words(
        """
        or not no never neither nor but except unless without instead if only don't dont can't
        cannot won't keep
        """
    )
)

# --- Chinese ---


_CHINESE_LEADS: Final = _words(
    """
    请确认 請確認 确认要 確認要 确认 確認 确定要 確定要 确定 確定 是否要 是否需要 是否 要不要 需要
    可以 能否 请 請 您要 你要 您 你 我要 我将 我將 我 要
    """
)
_CHINESE_TAILS: Final = _words("吗 嗎 么 呢 吧 了 啊 的")
_CHINESE_PRONOUNS: Final = _words("它们 它們 他们 这些 這些 那些 它 全部")
_CHINESE_OPEN: Final = _words("或 还是 還是 不 别 別 没 沒 除了 除非 只 但 如果")


def restates(clauses: Collection[str], question: str) -> bool:
    """Whether what stands beside a yes only says again what was asked.

    Args:
        clauses: what is left of the reply, normalised and casefolded, without the yes.
        question: what was asked, normalised and casefolded.
    """
    said = [clause for clause in map(str.strip, clauses) if clause]
    if len(said) != 1:
        return False
    chinese = _HAN.search(question) is not None
    if chinese != (_HAN.search(said[0]) is not None):
        return False
    asked = _asked(question, chinese=chinese)
    if asked is None:
        return False
    return _restated_in_chinese(said[0], asked) if chinese else _restated_in_english(said[0], asked)


def clauses_of(text: str) -> list[str]:
    """The clauses of a normalised text; a number is not taken apart."""
    return [
        part.strip() for part in _RESTATED_CLAUSES.split(_THOUSANDS.sub("", text)) if part.strip()
    ]


def _asked(question: str, *, chinese: bool) -> str | None:
    """What is asked, without what leads to it; None if the question says several things."""
    bare = _bare_chinese if chinese else _bare_english
    found = [asked for asked in map(bare, clauses_of(question)) if asked]
    return found[0] if len(found) == 1 else None


def _bare_english(clause: str) -> str:
    while lead := _LEADS.match(clause):
        clause = clause[lead.end() :]
    return clause.strip()


def _restated_in_english(said: str, asked: str) -> bool:
    words = [word for word in _bare_english(said).split() if word not in _COURTESY]
    wanted = asked.split()
    if not words or wanted[0] in _NO_VERBS or _OPEN & {*words, *wanted} or words[0] != wanted[0]:
        return False
    rest = words[1:]
    return all(word in _PRONOUNS for word in rest) or _things(rest) == _things(wanted[1:])


def _things(words: list[str]) -> list[str]:
    return [word for word in words if word not in _DETERMINERS]


def _bare_chinese(clause: str) -> str:
    clause = "".join(clause.split())
    before = None
    while before != clause:
        before = clause
        for lead in _CHINESE_LEADS:
            clause = clause.removeprefix(lead)
        for tail in _CHINESE_TAILS:
            clause = clause.removesuffix(tail)
    return clause


def _restated_in_chinese(said: str, asked: str) -> bool:
    words = _bare_chinese(said)
    if not words or any(part in text for part in _CHINESE_OPEN for text in (words, asked)):
        return False
    if words == asked:
        return True
    for pronoun in _CHINESE_PRONOUNS:
        words = words.removesuffix(pronoun)
    # A verb has two characters; more of them might be a part of the object.
    return len(words) == 2 and all(map(_HAN.match, words)) and asked.startswith(words)


# --- the message as an answer ---

_NUMBER: Final = re.compile(r"[-+]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?\Z")
_NUMERIC_DATE: Final = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})\Z")
_CHINESE_DATE: Final = re.compile(r"(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*[日号號]\Z")
_DAY_FIRST: Final = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?\s+([a-z]+)\.?,?\s+(\d{4})\Z")
_MONTH_FIRST: Final = re.compile(r"([a-z]+)\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})\Z")
_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_ENDS: Final = " \t\r\n.!。！\"'“”‘’「」"


@dataclass(frozen=True, slots=True)
class Reply:
    """A message that may answer a question.

    Attributes:
        text: what the person wrote.
        schema: JSON Schema of the answer.
        question: what was asked, for people.
        reason: the interrupt's reason.
        metadata: the interrupt's public metadata.
    """

    text: str
    schema: Mapping[str, Json]
    question: str | None = None
    reason: str = "input_required"
    metadata: Mapping[str, Json] | None = None

    def by_rule(self) -> Answer | None:
        """The answer as the built-in rules read it, or None when they do not understand it."""
        return extract_by_rule(self)


Extractor = Callable[[Reply], Answer | Awaitable[Answer | None] | None]
"""Makes the answer of a reply, async or plain (in a thread); None when it is none. A payload
that does not satisfy the schema counts as none too."""


def extract_by_rule(reply: Reply) -> Answer | None:
    """Make the payload of a reply, or None when the rules do not understand it.

    Whether the payload satisfies the whole schema is checked by whoever takes it.
    """
    fields = fields_from_schema(reply.schema)
    needed = [field for field in fields if field.required]
    asked = fields if len(fields) == 1 else needed
    if len(asked) != 1 or not reply.text.strip():
        return None
    (field,) = asked
    value = _read(field, _subschema(reply.schema, field.name), reply)
    if value is None:
        return None
    return Answer(payload_from_input(reply.schema, {field.name: value}))


def _subschema(schema: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    whole = resolve_schema(schema, schema)
    properties = whole.get("properties")
    if name == WHOLE_VALUE and not properties:
        return whole
    return resolve_schema(schema, (properties or {}).get(name))


def _read(field: FormField, subschema: Mapping[str, Json], reply: Reply) -> str | bool | None:
    """The value of a field as a form would bring it; None when the text has none."""
    text = reply.text
    if field.type == "confirm":
        return read_yes_or_no(text, reply.question or "")
    if field.type == "select":
        wanted = _plain(text)
        chosen = [option for option in field.options if _plain(option) == wanted]
        return chosen[0] if len(chosen) == 1 else None
    match subschema.get("type"):
        case "number" | "integer":
            return _number(text)
        case "string":
            match subschema.get("format"):
                case "date":
                    found = _date(text)
                    return found.isoformat() if found is not None else None
                case "date-time":
                    return _moment(text)
            return text.strip()
    return None


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip(_ENDS)


def _number(text: str) -> str | None:
    plain = _plain(text)
    if not _NUMBER.match(plain):
        return None
    # In JSON a number has neither a plus nor leading zeros.
    sign = "-" if plain.startswith("-") else ""
    whole, dot, rest = plain.lstrip("+-").replace(",", "").partition(".")
    return f"{sign}{whole.lstrip('0') or '0'}{dot}{rest}"


def _date(text: str) -> date | None:
    plain = _plain(text)
    if numeric := _NUMERIC_DATE.match(plain):
        return _day(numeric[1], numeric[3], numeric[4])
    if chinese := _CHINESE_DATE.match(plain):
        return _day(chinese[1], chinese[2], chinese[3])
    if words := _DAY_FIRST.match(plain):
        return _day(words[3], _month(words[2]), words[1])
    if words := _MONTH_FIRST.match(plain):
        return _day(words[3], _month(words[1]), words[2])
    return None


def _month(word: str) -> str:
    found = [number for number, name in enumerate(_MONTHS, 1) if name.startswith(word)]
    return str(found[0]) if len(found) == 1 and len(word) >= 3 else "0"


def _day(year: str, month: str, day: str) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None


def _moment(text: str) -> str | None:
    plain = _plain(text).upper()
    if _date(plain) is not None:
        return None
    try:
        moment = datetime.fromisoformat(plain)
    except ValueError:
        return None
    # Without an offset it would be another moment in every place.
    return moment.isoformat() if moment.tzinfo is not None else None
