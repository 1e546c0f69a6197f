"""What the formats of JSON Schema ask of a text, each checked in linear time.

A text that one of the libraries which write the schemas (pydantic, zod, valibot) takes is taken
here: a time may lack its zone and its seconds, an address may have letters of any script. Whoever
wants more says so in a `pattern`. A format that is not listed says what a text is for, not what it
must be.

Source: JSON Schema 2020-12, "Vocabularies for Semantic Content With format".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final

from agui_bridge.protocol.schemas.check_work import spend

__all__ = ["FORMATS", "check_format"]

_CHARACTERS: Final = 250
"""Of a text, what takes as long to look at as a step of the check."""

_LONGEST: Final = 320
"""Characters of the longest address of e-mail; of all else but a URI no proper text is as long."""

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(
    r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::(?:[0-5][0-9]|60)(?:\.[0-9]+)?)?"
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)?"
)
_NUMBER: Final = r"[0-9]+(?:[.,][0-9]+)?"
_DURATION: Final = re.compile(
    rf"[+-]?P(?=[0-9]|T[0-9])(?:{_NUMBER}Y)?(?:{_NUMBER}M)?(?:{_NUMBER}W)?(?:{_NUMBER}D)?"
    rf"(?:T(?=[0-9])(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?"
)
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s\x00-\x20\x7f<>\"{}|\\^`]+")
_NEEDS_HOST: Final = re.compile(r"(?:https?|wss?|ftp):(?!//[^/?#])", re.IGNORECASE)
_LOCAL: Final = re.compile(r"[^\s\x00-\x20\x7f()<>\[\]\\.,:;@\"]+")
_QUOTED: Final = re.compile(r"\"[^\x00-\x1f\x7f\"]+\"")
_LABEL: Final = re.compile(r"[^\W_](?:[\w-]{0,61}[^\W_])?")


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_time(text: str) -> bool:
    return _TIME.fullmatch(text) is not None


def _is_moment(text: str) -> bool:
    return text[10:11] in ("T", "t", " ") and _is_date(text[:10]) and _is_time(text[11:])


def _is_email(text: str) -> bool:
    local, at, domain = text.rpartition("@")
    if not at or len(local) > 64:
        return False
    if not _QUOTED.fullmatch(local) and not all(map(_LOCAL.fullmatch, local.split("."))):
        return False
    if domain.startswith("[") and domain.endswith("]"):
        inner = domain[1:-1]
        return _is_ipv6(inner[5:]) if inner.startswith("IPv6:") else _is_ipv4(inner)
    return all(map(_LABEL.fullmatch, domain.split(".")))


def _is_uri(text: str) -> bool:
    return _URI.fullmatch(text) is not None and not _NEEDS_HOST.match(text)


def _is_ipv4(text: str) -> bool:
    try:
        IPv4Address(text)
    except ValueError:
        return False
    return True


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return "%" not in text  # a zone means something on one machine only


def _short(fits: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda text: len(text) <= _LONGEST and fits(text)


FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "date": _short(_is_date),
    "date-time": _short(_is_moment),
    "duration": _short(lambda text: _DURATION.fullmatch(text) is not None),
    "email": _short(_is_email),
    "ipv4": _short(_is_ipv4),
    "ipv6": _short(_is_ipv6),
    "time": _short(_is_time),
    "uri": _is_uri,
    "uuid": _short(lambda text: _UUID.fullmatch(text) is not None),
}
"""By the name of a format whether a text is one."""


def check_format(_: Any, name: str, instance: Any, __: Any) -> Iterator[Any]:
    """The keyword `format`, for a validator of jsonschema."""
    from jsonschema import ValidationError

    fits = FORMATS.get(name)
    if fits is None or not isinstance(instance, str):
        return
    spend(len(instance) // _CHARACTERS)
    if not fits(instance):
        yield ValidationError(f"{instance!r} is not a {name!r}")
