"""JSON Patch, RFC 6902: the six operations, on values that are never mutated.

STATE_DELTA and ACTIVITY_DELTA carry such patches. The containers along a changed path are
copied and the rest is shared, so that a patch costs what it touches.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final


class PatchError(ValueError):
    """A patch that is malformed or does not fit its document, which stays as it was."""


_ESCAPE: Final = re.compile(r"~(?![01])")
_INDEX: Final = re.compile(r"0|[1-9][0-9]*", re.ASCII)

_Edit = Callable[[Any, str], Any]


def apply_patch(document: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """Return the document with a patch applied, all of it or, on an error, none.

    Args:
        document: Any JSON value; it is not mutated, but shares parts with the result.
        operations: ``{"op", "path", "value" | "from"}`` objects, in their order. Removing
            the whole document leaves null, as the official client has it.

    Raises:
        PatchError: An operation is malformed, its target is missing, or a test failed.
    """
    for number, operation in enumerate(operations):
        try:
            document = _apply(document, operation)
        except PatchError as error:
            raise PatchError(f"operation {number}: {error}") from None
    return document


def _apply(document: Any, operation: Mapping[str, Any]) -> Any:
    op = _member(operation, "op")
    path = _parse(_member(operation, "path"))
    if op == "add":
        return _add(document, path, _member(operation, "value"))
    if op == "remove":
        return _edit(document, path, _remove_child) if path else None
    if op == "replace":
        return _replace(document, path, _member(operation, "value"))
    if op == "test":
        if not _equal(_get(document, path), _member(operation, "value")):
            raise PatchError(f"the value at {operation['path']!r} is another one")
        return document
    if op not in ("move", "copy"):
        raise PatchError(f"unknown op {op!r}")
    source = _parse(_member(operation, "from"))
    value = _get(document, source)
    if op == "copy":
        return _add(document, path, value)
    if source == path:
        return document
    if path[: len(source)] == source:
        raise PatchError("a value can't be moved into itself")
    return _add(_edit(document, source, _remove_child), path, value)


def _member(operation: Mapping[str, Any], key: str) -> Any:
    if not isinstance(operation, Mapping):
        raise PatchError("an operation is an object")
    if key not in operation:
        raise PatchError(f"{key!r} is missing")
    return operation[key]


def _parse(pointer: Any) -> list[str]:
    """Split a JSON Pointer (RFC 6901) into its unescaped tokens."""
    if not isinstance(pointer, str) or _ESCAPE.search(pointer):
        raise PatchError(f"{pointer!r} is not a JSON Pointer")
    if pointer == "":
        return []
    if not pointer.startswith("/"):
        raise PatchError(f"{pointer!r} is not a JSON Pointer: it does not begin with '/'")
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/")]


def _get(document: Any, path: Sequence[str]) -> Any:
    for token in path:
        document = _child(document, token)
    return document


def _child(parent: Any, token: str) -> Any:
    if isinstance(parent, dict):
        if token not in parent:
            raise PatchError(f"there is no member {token!r}")
        return parent[token]
    return parent[_index(parent, token)]


def _index(parent: Any, token: str, *, end: bool = False) -> int:
    """Read an array index; ``end`` admits the position after the last item."""
    if not isinstance(parent, list):
        raise PatchError(f"{token!r} does not lead into a {type(parent).__name__}")
    if not _INDEX.fullmatch(token):
        raise PatchError(f"{token!r} is not an array index")
    # No list is that long, and int() refuses thousands of digits with another error.
    if len(token) > 18 or int(token) >= len(parent) + end:
        raise PatchError(f"there is no item {token[:20]}")
    return int(token)


def _edit(document: Any, path: Sequence[str], edit: _Edit) -> Any:
    """Copy the containers along a path and edit a copy of the innermost."""
    parents = [document]
    for token in path[:-1]:
        parents.append(_child(parents[-1], token))
    changed = edit(_copy(parents[-1]), path[-1])
    for parent, token in zip(reversed(parents[:-1]), reversed(path[:-1]), strict=True):
        parent = _copy(parent)
        parent[int(token) if isinstance(parent, list) else token] = changed
        changed = parent
    return changed


def _copy(parent: Any) -> Any:
    return parent.copy() if isinstance(parent, dict | list) else parent


def _add(document: Any, path: Sequence[str], value: Any) -> Any:
    def add_child(parent: Any, token: str) -> Any:
        if isinstance(parent, dict):
            parent[token] = value
        elif token == "-" and isinstance(parent, list):
            parent.append(value)
        else:
            index = _index(parent, token, end=True)
            parent.insert(index, value)
        return parent

    return _edit(document, path, add_child) if path else value


def _replace(document: Any, path: Sequence[str], value: Any) -> Any:
    def replace_child(parent: Any, token: str) -> Any:
        _child(parent, token)
        parent[int(token) if isinstance(parent, list) else token] = value
        return parent

    return _edit(document, path, replace_child) if path else value


def _remove_child(parent: Any, token: str) -> Any:
    _child(parent, token)
    del parent[int(token) if isinstance(parent, list) else token]
    return parent


def _equal(a: Any, b: Any) -> bool:
    """Compare as RFC 6902, section 4.6: numbers by value, a boolean equals no number."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)
