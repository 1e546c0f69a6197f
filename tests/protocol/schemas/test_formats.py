"""Formats take what the libraries take that write schemas, and refuse what is none."""

from __future__ import annotations

import time
from typing import Any, Final

import pytest

from agui_bridge.protocol.schemas.checking import check_schema, find_schema_fault
from agui_bridge.protocol.schemas.patterns import FORMATS

RIGHT: Final[dict[str, list[str]]] = {
    "date": ["2026-11-22", "2024-02-29"],
    "date-time": [
        "2026-11-22T10:00:00Z", "2026-11-22t10:00:00.123456+02:00", "2026-11-22T10:00",
        "2026-11-22 10:00:00", "2026-11-22T10:00:00-0330", "2016-12-31T23:59:60Z",
    ],
    "duration": ["P1D", "PT1H30M", "P1Y2M3DT4H5M6.5S", "P3W", "-P1D", "PT0,5S"],
    "email": [
        "ann@example.com", "ann.b+c'd@sub.example.co", "ann@localhost", "änn@exämple.de",
        '"a b"@example.com', "ann@[10.0.0.1]", "ann@[IPv6:::1]",
    ],
    "ipv4": ["10.0.0.1", "255.255.255.255"],
    "ipv6": ["::", "2001:db8::1", "::ffff:10.0.0.1"],
    "time": ["10:00:00Z", "10:00:00+02:00", "10:00:00.5", "23:59"],
    "uri": ["https://example.com/a?b#c", "mailto:ann@example.com", "urn:x:y", "https://пример.рф/"],
    "uuid": ["1b4e28ba-2fa1-11d2-883f-0016d3cca427", "1B4E28BA-2FA1-11D2-883F-0016D3CCA427"],
}  # fmt: skip
WRONG: Final[dict[str, list[str]]] = {
    "date": ["", "2026-02-29", "2026-1-1", "20261122", "2026-11-22T10:00", "\uff12026-11-22"],
    "date-time": ["2026-11-22", "2026-11-22T25:00:00Z", "2026-02-30T10:00:00Z", "10:00:00"],
    "duration": ["", "P", "PT", "P1DT", "1D", "P1H", "P1D\n"],
    "email": [
        "ann", "@example.com", "ann@", "a nn@example.com", ".ann@example.com", "a..b@example.com",
        "ann@-example.com", "ann@example..com", "ann@[10.0.0.256]", f"{'a' * 65}@example.com",
    ],
    "ipv4": ["10.0.0", "10.0.0.256", "010.0.0.1", "::1"],
    "ipv6": ["10.0.0.1", ":::", "fe80::1%eth0", "2001:db8::g"],
    "time": ["24:00", "10:60", "10", "10:00:00+25:00", "noon"],
    "uri": ["example.com", "//example.com", "https://", "http:example", "https://a b", "a:<b>"],
    "uuid": ["1b4e28ba2fa111d2883f0016d3cca427", "1b4e28ba-2fa1-11d2-883f", "x"],
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_a_text_in_its_format_passes_and_another_is_refused(name: str) -> None:
    schema = {"type": "string", "format": name}

    assert check_schema(schema) == ()
    assert [text for text in RIGHT[name] if find_schema_fault(schema, text)] == []
    assert [text for text in WRONG[name] if not find_schema_fault(schema, text)] == []


def test_a_fault_names_the_format() -> None:
    schema = {"properties": {"to": {"format": "email"}}}

    assert (
        find_schema_fault(schema, {"to": "ann"}) == '/to: must have the format "email", not "ann"'
    )


@pytest.mark.parametrize("value", [1, None, [], {}])
def test_a_format_asks_nothing_of_what_is_no_text(value: Any) -> None:
    assert find_schema_fault({"format": "date"}, value) is None


def test_a_format_that_is_not_known_asks_nothing() -> None:
    assert find_schema_fault({"format": "password"}, "x") is None


@pytest.mark.parametrize("name", FORMATS)
def test_a_long_text_is_checked_in_linear_time(name: str) -> None:
    begun = time.process_time()

    for piece in ("1", "a", "a.", "1:", "::", "a@", "P1", '"', "-", " "):
        FORMATS[name](piece * 1_000_000)
        for text in RIGHT[name]:
            FORMATS[name](text + piece * 1_000_000)

    assert time.process_time() - begun < 20.0  # in squared time it would be hours
