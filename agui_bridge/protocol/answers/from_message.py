"""A message of a person made into the payload of a question, by rule.

| what the schema asks for | what is understood |
|---|---|
| `boolean` | yes and no in English and Chinese |
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
from collections.abc import Awaitable, Callable, Mapping
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
from agui_bridge.protocol.answers.reply_words import read_yes_or_no
from agui_bridge.protocol.threads.records import Json

__all__ = ["Extractor", "Reply", "extract_by_rule"]

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
    value = _read(field, _subschema(reply.schema, field.name), reply.text)
    if value is None:
        return None
    return Answer(payload_from_input(reply.schema, {field.name: value}))


def _subschema(schema: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    whole = resolve_schema(schema, schema)
    properties = whole.get("properties")
    if name == WHOLE_VALUE and not properties:
        return whole
    return resolve_schema(schema, (properties or {}).get(name))


def _read(field: FormField, subschema: Mapping[str, Json], text: str) -> str | bool | None:
    """The value of a field as a form would bring it; None when the text has none."""
    if field.type == "confirm":
        return read_yes_or_no(text)
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
