"""Completing JSON text that broke off."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agui_bridge.protocol.json_values import find_forbidden
from agui_bridge.protocol.lifecycle.partial_json import completion

DOCUMENTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


def strict(text: str) -> Any:
    def refuse(constant: str) -> Any:
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


@given(
    document=DOCUMENTS,
    ascii_only=st.booleans(),
    indent=st.sampled_from([None, 1]),
    data=st.data(),
)
def test_every_prefix_of_every_document_completes(
    document: Any, ascii_only: bool, indent: int | None, data: st.DataObject
) -> None:
    text = json.dumps(document, ensure_ascii=ascii_only, indent=indent)
    assert completion(text) == ""
    cut = data.draw(st.integers(0, len(text)))
    suffix = completion(text[:cut])
    assert suffix is not None
    if cut:
        completed = strict(text[:cut] + suffix)
        # Nothing is added that a store would refuse, such as half a surrogate pair.
        assert find_forbidden(completed) is None or find_forbidden(document) is not None


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ("", ""),
        (" \n", "{}"),
        ("{", "}"),
        ("[", "]"),
        ('{"a', '":null}'),
        ('{"a"', ":null}"),
        ('{"a":', "null}"),
        ('{"a": 1', "}"),
        ('{"a": 1,', '"":null}'),
        ("[1,", "null]"),
        ("[1 , ", "null]"),
        ('[{"a":[', "]}]"),
        ("tr", "ue"),
        ("[fals", "e]"),
        ("n", "ull"),
        ("-", "0"),
        ("[1.", "0]"),
        ("1e", "0"),
        ("1.5E-", "0"),
        ("0", ""),
        ('"', '"'),
        ('"\\', '\\"'),
        ('"\\\\', '"'),
        ('"\\u', 'fffd"'),
        ('"\\uF', 'ffd"'),
        ('"\\u0', '020"'),
        ('"\\u00', '20"'),
        ('"\\u000', '9"'),
        ('"\\u1', '000"'),
        ('"\\ud', '000"'),
        ('"\\ud8', '00\\udc00"'),
        ('"\\uD83', '0\\udc00"'),
        ('"\\ud83d', '\\udc00"'),
        ('"\\ud83d\\', 'udc00"'),
        ('"\\ud83d\\u', 'dc00"'),
        ('"\\ud83d\\uD', 'c00"'),
        ('"\\ud83d\\udd', '00"'),
        ('"\\ud83d\\udc0', '0"'),
        ('"\\ud83d\\u00', '20"'),
        ('"\\ud83d\\ude00', '"'),
        ('"\\\\ud83d', '"'),
        ('{"\\ud83d', '\\udc00":null}'),
    ],
)
def test_what_is_missing_is_supplied(text: str, suffix: str) -> None:
    assert completion(text) == suffix
    if text:
        strict(text + suffix)


@pytest.mark.parametrize(
    "text",
    [
        "}",
        "]",
        "{]",
        "[}",
        "[,",
        "{,",
        '{"a",',
        '{"a" 1',
        '{"a":}',
        '{"a":1,}',
        "[1,]",
        "[1 2",
        "{1",
        "{tr",
        "01",
        "1.e",
        "+1",
        "1-",
        ".5",
        "NaN",
        "-Infinity",
        "nul1",
        '"a\n',
        '"\\x',
        '"\\uzz',
        "{} {}",
        '"a" "b',
        "hello",
        "'a'",
        "1,",
    ],
)
def test_what_no_suffix_can_mend_is_left(text: str) -> None:
    assert completion(text) is None


def test_long_and_deep_documents_are_no_trouble() -> None:
    assert completion("[" * 100_000) == "]" * 100_000
    assert completion('["' + "a\\n" * 100_000) == '"]'
