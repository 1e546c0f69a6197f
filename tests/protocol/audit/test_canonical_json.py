"""Canonical JSON: RFC 8785's own examples, and another implementation on random values."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import pytest
import rfc8785
from hypothesis import given, strategies as st

from agui_bridge.protocol.audit.sealing import canonical_json

# RFC 8785, appendix B.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
}

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize("bits", NUMBERS)
def test_numbers_are_written_as_the_rfc_writes_them(bits: str) -> None:
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_json(value).decode() == NUMBERS[bits]


def test_keys_are_sorted_by_utf_16_code_units() -> None:
    # RFC 8785, section 3.2.3.
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    written = canonical_json(dict.fromkeys(keys))
    assert list(json.loads(written)) == ["\r", "1", "\x80", "ö", "€", "\U0001f600", "\ufb33"]


@given(JSON)
def test_another_implementation_writes_the_same(value: Any) -> None:
    try:
        expected = rfc8785.dumps(value)
    except UnicodeEncodeError:
        return
    assert canonical_json(value) == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_read_back_as_it_was(value: float) -> None:
    assert float(json.loads(canonical_json(value))) == value


def test_a_large_integer_keeps_its_digits() -> None:
    assert canonical_json([2**63 + 1, 10**30]) == f"[{2**63 + 1},{10**30}]".encode()


@pytest.mark.parametrize("value", [math.nan, math.inf, {1: 2}, {"x": object()}, {3}])
def test_what_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        canonical_json(value)
