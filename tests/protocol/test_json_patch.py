"""JSON Patch against the examples of RFC 6902, appendix A, and what it forbids."""

import copy
import json
from typing import Any

import pytest

from agui_bridge.protocol.json_patch import PatchError, apply_patch

APPENDIX: list[tuple[str, str, str, str]] = [
    ("A.1", '{"foo":"bar"}', '[{"op":"add","path":"/baz","value":"qux"}]',
     '{"baz":"qux","foo":"bar"}'),
    ("A.2", '{"foo":["bar","baz"]}', '[{"op":"add","path":"/foo/1","value":"qux"}]',
     '{"foo":["bar","qux","baz"]}'),
    ("A.3", '{"baz":"qux","foo":"bar"}', '[{"op":"remove","path":"/baz"}]', '{"foo":"bar"}'),
    ("A.4", '{"foo":["bar","qux","baz"]}', '[{"op":"remove","path":"/foo/1"}]',
     '{"foo":["bar","baz"]}'),
    ("A.5", '{"baz":"qux","foo":"bar"}', '[{"op":"replace","path":"/baz","value":"boo"}]',
     '{"baz":"boo","foo":"bar"}'),
    ("A.6", '{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}',
     '[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]',
     '{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}'),
    ("A.7", '{"foo":["all","grass","cows","eat"]}',
     '[{"op":"move","from":"/foo/1","path":"/foo/3"}]',
     '{"foo":["all","cows","eat","grass"]}'),
    ("A.8", '{"baz":"qux","foo":["a",2,"c"]}',
     '[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]',
     '{"baz":"qux","foo":["a",2,"c"]}'),
    ("A.10", '{"foo":"bar"}', '[{"op":"add","path":"/child","value":{"grandchild":{}}}]',
     '{"foo":"bar","child":{"grandchild":{}}}'),
    ("A.11", '{"foo":"bar"}', '[{"op":"add","path":"/baz","value":"qux","xyz":123}]',
     '{"foo":"bar","baz":"qux"}'),
    ("A.14", '{"/":9,"~1":10}', '[{"op":"test","path":"/~01","value":10}]', '{"/":9,"~1":10}'),
    ("A.16", '{"foo":["bar"]}', '[{"op":"add","path":"/foo/-","value":["abc","def"]}]',
     '{"foo":["bar",["abc","def"]]}'),
    ("root replaced", "[1]", '[{"op":"replace","path":"","value":{}}]', "{}"),
    ("root added", "1", '[{"op":"add","path":"","value":2}]', "2"),
    ("root removed", "{}", '[{"op":"remove","path":""}]', "null"),
    ("copy", '{"a":{"b":1}}', '[{"op":"copy","from":"/a","path":"/c"}]',
     '{"a":{"b":1},"c":{"b":1}}'),
    ("copy into itself", '{"a":{}}', '[{"op":"copy","from":"/a","path":"/a/b"}]',
     '{"a":{"b":{}}}'),
    ("copied parts are apart", '{"a":[]}',
     '[{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/b/-","value":1}]',
     '{"a":[],"b":[1]}'),
    ("move to the same place", '{"a":1}', '[{"op":"move","from":"/a","path":"/a"}]', '{"a":1}'),
    ("empty keys", '{"":{"":1}}', '[{"op":"replace","path":"//","value":2}]', '{"":{"":2}}'),
    ("add at the end", "[1]", '[{"op":"add","path":"/1","value":2}]', "[1,2]"),
    ("deep", '{"a":[{"b":[1,2]}]}', '[{"op":"replace","path":"/a/0/b/1","value":3}]',
     '{"a":[{"b":[1,3]}]}'),
    ("index-like member", '{"a":{"0":1}}', '[{"op":"replace","path":"/a/0","value":2}]',
     '{"a":{"0":2}}'),
    ("test numbers by value", "[1,[1.0]]", '[{"op":"test","path":"","value":[1.0,[1]]}]',
     "[1,[1.0]]"),
    ("test objects", '{"a":{"x":1,"y":[]}}',
     '[{"op":"test","path":"/a","value":{"y":[],"x":1}}]', '{"a":{"x":1,"y":[]}}'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("document", "patch", "expected"), [c[1:] for c in APPENDIX], ids=[c[0] for c in APPENDIX]
)
def test_operations_do_what_the_rfc_says(document: str, patch: str, expected: str) -> None:
    given, operations = json.loads(document), json.loads(patch)
    before, operations_before = copy.deepcopy(given), copy.deepcopy(operations)
    assert apply_patch(given, operations) == json.loads(expected)
    assert (given, operations) == (before, operations_before)


REFUSED: list[tuple[str, Any, Any]] = [
    ("A.9 failed test", {"baz": "qux"}, {"op": "test", "path": "/baz", "value": "bar"}),
    ("A.12 no parent", {"foo": "bar"}, {"op": "add", "path": "/baz/bat", "value": "qux"}),
    ("A.15 string is no number", {"~1": 10}, {"op": "test", "path": "/~01", "value": "10"}),
    ("true is not 1", [True], {"op": "test", "path": "/0", "value": 1}),
    ("other length", [1], {"op": "test", "path": "", "value": [1, 2]}),
    ("other members", {"a": 1}, {"op": "test", "path": "", "value": {"b": 1}}),
    ("missing member", {}, {"op": "remove", "path": "/a"}),
    ("replace nothing", {}, {"op": "replace", "path": "/a", "value": 1}),
    ("past the end", [1], {"op": "add", "path": "/2", "value": 1}),
    ("no item", [1], {"op": "replace", "path": "/1", "value": 1}),
    ("huge index", [1], {"op": "remove", "path": "/" + "9" * 5000}),
    ("leading zero", [1, 2], {"op": "remove", "path": "/01"}),
    ("negative", [1], {"op": "remove", "path": "/-1"}),
    ("other digits", [1, 2], {"op": "remove", "path": "/\u0661"}),
    ("remove the end", [1], {"op": "remove", "path": "/-"}),
    ("through the end", [[1]], {"op": "add", "path": "/-/0", "value": 1}),
    ("into a scalar", {"a": 1}, {"op": "add", "path": "/a/b", "value": 1}),
    ("end of a scalar", {"a": "x"}, {"op": "add", "path": "/a/-", "value": 1}),
    ("relative pointer", {"a": 1}, {"op": "remove", "path": "a"}),
    ("bad escape", {"~2": 1}, {"op": "remove", "path": "/~2"}),
    ("pointer of another type", {}, {"op": "remove", "path": 1}),
    ("into itself", {"a": {}}, {"op": "move", "from": "/a", "path": "/a/b"}),
    ("copy nothing", {}, {"op": "copy", "from": "/a", "path": "/b"}),
    ("unknown op", {}, {"op": "merge", "path": ""}),
    ("no op", {}, {"path": ""}),
    ("no path", {}, {"op": "remove"}),
    ("no value", {}, {"op": "add", "path": "/a"}),
    ("no from", {}, {"op": "move", "path": "/a"}),
    ("no object", {}, "remove"),
]


@pytest.mark.parametrize(
    ("document", "operation"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED]
)
def test_what_does_not_fit_raises_and_changes_nothing(document: Any, operation: Any) -> None:
    before = copy.deepcopy(document)
    # The first operation fits: it does not count either.
    first = {"op": "test", "path": "", "value": copy.deepcopy(document)}
    with pytest.raises(PatchError, match=r"^operation 1: "):
        apply_patch(document, [first, operation])
    assert document == before


def test_what_a_patch_does_not_touch_is_shared() -> None:
    document: dict[str, Any] = {"big": [1, 2], "n": 1}
    changed = apply_patch(document, [{"op": "replace", "path": "/n", "value": 2}])
    assert changed["big"] is document["big"]
    assert document["n"] == 1
