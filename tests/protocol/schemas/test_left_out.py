"""What can't be checked is left out and told; no proper answer is refused therefore."""

from __future__ import annotations

import time
from typing import Any, Final

import pytest
from hypothesis import assume, given, strategies as st
from jsonschema import Draft202012Validator

from agui_bridge.protocol.schemas.checking import check_schema, find_schema_fault

Schema = dict[str, Any]

FAST: Final = 2.0
"""Seconds of the processor that nothing here may take, by far."""

BACK: Final = {"pattern": r"^(\w)\1$"}
"""What can be checked of it is that it begins with a letter or a digit."""

UNKNOWN: Final = {"pattern": r"^\p{Emoji}$"}

LEFT_OUT: Final[dict[str, tuple[Schema, str, list[Any], list[Any]]]] = {
    "a back-reference": (
        {"properties": {"a": BACK}},
        r"/properties/a: `pattern` '^(\\w)\\1$' is in part only checked.",
        [{"a": "xx"}], [{"a": "!!"}],
    ),
    "a class that is not known": (
        UNKNOWN, r"the answer: `pattern` '^\\p{Emoji}$' is not checked.", ["x"], [],
    ),
    "look-behind": (
        {"pattern": "(?<!a)b$"},
        "the answer: `pattern` '(?<!a)b$' is in part only checked.", ["b"], ["ba"],
    ),
    "a broken pattern": (
        {"pattern": "(("}, "the answer: `pattern` '((' is not checked.", ["x"], [],
    ),
    "a huge repetition": (
        {"pattern": "((a{1000}){1000}){1000}"},
        "the answer: `pattern` '((a{1000}){1000}){1000}' is not checked.", ["x"], [],
    ),
    "names": (
        {"patternProperties": {r"^(x)\1$": {"type": "string"}}, "additionalProperties": False,
         "properties": {"a": {"type": "integer"}}},
        r"the answer: `patternProperties` '^(x)\\1$' is not checked.",
        [{"xx": "y"}, {"a": 1}], [{"a": "y"}],
    ),
    "under not": (
        {"type": "string", "not": BACK},
        r"/not: `pattern` '^(\\w)\\1$' is in part only checked.", ["xy", "!!"], [1],
    ),
    "under not, by reference": (
        {"type": "string", "not": {"$ref": "#/$defs/twice"}, "$defs": {"twice": BACK}},
        r"/$defs/twice: `pattern` '^(\\w)\\1$' is in part only checked.", ["xy"], [1],
    ),
    "in one of several": (
        {"oneOf": [BACK, {"const": "xy"}, {"type": "integer"}]},
        r"/oneOf/0: `pattern` '^(\\w)\\1$' is in part only checked.", ["xx", "xy", 1], ["!"],
    ),
    "in a condition": (
        {"if": BACK, "then": {"maxLength": 2}, "else": {"minLength": 9}},
        r"/if: `pattern` '^(\\w)\\1$' is in part only checked.", ["xx", "xy4567890"], [],
    ),
    "counted": (
        {"contains": BACK, "maxContains": 1, "minItems": 1},
        r"/contains: `pattern` '^(\\w)\\1$' is in part only checked.", [["xx", "xy"]], [[]],
    ),
    "beside unevaluated": (
        {"properties": {"a": BACK}, "unevaluatedProperties": False},
        "the answer: `unevaluated…` is not checked.", [{"a": "xx"}], [{"a": "!"}],
    ),
    "patterns beside unevaluated": (
        {"unevaluatedProperties": False,
         "allOf": [{"patternProperties": {"^a": {"type": "null"}}}]},
        "the answer: `unevaluated…` is not checked.", [{"a": None}], [{"a": 1}],
    ),
    "a reference to itself": (
        {"$ref": "#", "type": "object"},
        "the answer: '#' is circular and is not checked.", [{}], [1],
    ),
    "a circle of one": (
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a", "type": "string"}}},
        "/$defs/a: '#/$defs/a' is circular and is not checked.", ["x"], [1],
    ),
    "a circle that an escape hides": (
        {"$ref": "#/$defs/a", "$defs": {"%61": {}, "a": {"allOf": [{"$ref": "#/$defs/%61"}]}}},
        "/$defs/a/allOf/0: '#/$defs/%61' is circular and is not checked.", [1], [],
    ),
    "a circle among alternatives": (
        {"$ref": "#/$defs/a",
         "$defs": {"a": {"oneOf": [{"type": "string"}, {"$ref": "#/$defs/a"}]}}},
        "/$defs/a/oneOf/1: '#/$defs/a' is circular and is not checked.", ["x", 1], [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_can_t_be_checked_is_told_and_the_rest_is_checked(name: str) -> None:
    schema, told, right, wrong = LEFT_OUT[name]

    assert told in check_schema(schema)
    assert [find_schema_fault(schema, answer) for answer in right] == [None] * len(right)
    assert None not in [find_schema_fault(schema, answer) for answer in wrong]


def test_a_long_list_of_what_is_left_out_is_cut() -> None:
    told = check_schema({"properties": {f"field{n}": UNKNOWN for n in range(1000)}})

    assert len(told) == 11
    assert told[-1] == "990 more parts are not checked."
    assert max(map(len, check_schema({"pattern": "(?=x)" * 1000 + "(("}))) < 400


TREE: Final[Schema] = {
    "type": "object",
    "required": ["children"],
    "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#"}},
    },
}  # fmt: skip


def tree(levels: int, name: Any) -> dict[str, Any]:
    node: dict[str, Any] = {"name": name, "children": []}
    for _ in range(levels):
        node = {"children": [node]}
    return node


def test_a_schema_that_refers_to_itself_is_checked_at_every_level() -> None:
    for levels in (0, 1, 10, 45):
        assert find_schema_fault(TREE, tree(levels, "leaf")) is None
        assert find_schema_fault(TREE, tree(levels, 1)) is not None


def test_an_answer_that_nests_too_deep_to_be_checked_is_refused_and_says_so() -> None:
    schema = {"anyOf": [{"type": "null"}, {"items": {"allOf": [{"anyOf": [{"$ref": "#"}]}]}}]}
    assert check_schema(schema) == ()
    answer: Any = None
    for _ in range(2000):
        answer = [answer]

    fault = find_schema_fault(schema, answer)

    assert fault == "the payload: it nests too deep to be checked against its schema."


def test_an_answer_that_makes_a_schema_branch_without_end_is_refused_within_a_moment() -> None:
    alternatives = [{"type": "array", "items": {"$ref": "#"}, "maxItems": n} for n in range(1, 9)]
    schema = {"anyOf": [{"const": "leaf"}, *alternatives]}
    check_schema(schema)
    answer: Any = "wrong"
    for _ in range(30):
        answer = [answer]
    begun = time.process_time()

    fault = find_schema_fault(schema, answer)

    assert time.process_time() - begun < FAST
    assert fault is not None
    assert "too large for its schema" in fault


PATTERNS: Final = ("^a", r"^(a|b)\1$", "a(?!b)", "(?<=a)b", "^(?=a).b", r"(a)\1|^b(?=a)")
"""Patterns that the engine takes whole, in part, or taken apart; Python takes them all."""

patterned: st.SearchStrategy[Schema] = st.recursive(
    st.sampled_from(PATTERNS).map(lambda pattern: {"pattern": pattern})
    | st.sampled_from(({}, {"type": "string"}, {"const": "ab"}, {"$ref": "#/$defs/d"})),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"items": inner}),
        st.fixed_dictionaries({"if": inner, "then": inner, "else": inner}),
        st.fixed_dictionaries({"contains": inner, "maxContains": st.just(1)}),
        st.fixed_dictionaries({"contains": inner, "minContains": st.integers(0, 2)}),
        st.fixed_dictionaries({"properties": st.fixed_dictionaries({"a": inner})}),
        st.fixed_dictionaries({"propertyNames": inner}),
        st.fixed_dictionaries({"dependentSchemas": st.fixed_dictionaries({"a": inner})}),
        st.fixed_dictionaries({"additionalProperties": inner}),
        st.builds(
            lambda pattern, named, others: {
                "patternProperties": {pattern: named}, "additionalProperties": others,
            },
            st.sampled_from(PATTERNS), inner, inner,
        ),
        st.builds(
            lambda within, rest: {"allOf": [within], "unevaluatedProperties": rest}, inner, inner
        ),
        *(
            st.fixed_dictionaries({word: st.lists(inner, min_size=1, max_size=3)})
            for word in ("allOf", "anyOf", "oneOf")
        ),
    ),
    max_leaves=6,
)  # fmt: skip
texts: st.SearchStrategy[str] = st.text(alphabet="ab", max_size=3)
answers: st.SearchStrategy[Any] = (
    texts | st.lists(texts, max_size=3) | st.dictionaries(texts, texts | st.none(), max_size=3)
)


@given(patterned, patterned, answers)
def test_no_answer_that_satisfies_the_schema_is_refused_for_what_is_left_out(
    schema: Schema, definition: Schema, answer: Any
) -> None:
    assume("#/$defs/d" not in str(definition))
    whole = {**schema, "$defs": {"d": definition}}
    told = check_schema(whole)

    fault = find_schema_fault(whole, answer)

    satisfies = Draft202012Validator(whole).is_valid(answer)
    assert fault is None or not satisfies
    assert (fault is None) == satisfies or told
