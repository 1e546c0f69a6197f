"""Bounds of a response schema: what may be compiled, before anything is."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.schemas.left_out import REFERENCES, UNEVALUATED, find_circles

__all__ = [
    "MAX_PATTERNS",
    "MAX_SCHEMA_DEPTH",
    "MAX_SCHEMA_LENGTH",
    "MAX_SCHEMA_NODES",
    "MAX_SUBSCHEMAS",
    "UnsafeSchema",
    "measure",
    "references_of",
    "resolve",
]

MAX_SCHEMA_NODES = 10_000
"""Values in a schema, each `$ref` counted as often as it is followed."""

MAX_SUBSCHEMAS = 2_000
"""Objects and booleans in a schema's own text. To compile one takes a fifth of a millisecond, and
everybody waits while it is done."""

MAX_PATTERNS = 1_000
"""Different patterns in a schema: the worst ones take half a millisecond each."""

MAX_SCHEMA_LENGTH = 256 * 1024
"""Characters of a schema as JSON text."""

MAX_SCHEMA_DEPTH = 64
"""Nesting of a schema, through its references."""

_MAX_UNEVALUATED = 3
"""`unevaluated*` keywords within each other: each one more than doubles the work below it."""


class UnsafeSchema(AgentMistake):
    """An agent offered a response schema that is invalid or could exhaust the server."""


class _Visit(NamedTuple):
    """A value of the schema, and how the walk got there."""

    node: Any
    depth: int = 0
    unevaluated: int = 0


class _Walk:
    """Visits what is in a schema, within bounds, which count for all visits together."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def through(self, node: Any, followed: Callable[[str], bool]) -> list[str]:
        """Go through a part of the schema, and through the references to be followed.

        Returns:
            All references that were met.
        """
        met: list[str] = []
        # In breadth: a circle is entered on its shortest way, and not taken for a deep schema.
        todo = deque([_Visit(node)])
        while todo:
            visit = todo.popleft()
            self._nodes += 1
            if self._nodes > MAX_SCHEMA_NODES:
                raise UnsafeSchema(
                    f"The response schema expands to over {MAX_SCHEMA_NODES} values."
                )
            if visit.depth > MAX_SCHEMA_DEPTH:
                raise UnsafeSchema(f"The response schema nests deeper than {MAX_SCHEMA_DEPTH}.")
            node, depth, unevaluated = visit.node, visit.depth + 1, visit.unevaluated
            if isinstance(node, Mapping):
                unevaluated = _check_object(visit, is_top=node is self._root)
                for reference in references_of(node):
                    met.append(reference)
                    if followed(reference):
                        todo.append(_Visit(resolve(self._root, reference), depth, unevaluated))
                todo.extend(_Visit(value, depth, unevaluated) for value in node.values())
            elif isinstance(node, list | tuple):
                todo.extend(_Visit(value, depth, unevaluated) for value in node)
        return met


def measure(root: Mapping[str, Any]) -> None:
    """Refuse a schema that is too large or too deep with its references followed.

    What refers to itself is followed once: how often a check comes back to it is up to the
    payload, and counted there.
    """
    walk = _Walk(root)
    inside = {
        reference: set(walk.through(resolve(root, reference), lambda _: False))
        for reference in dict.fromkeys(walk.through(root, lambda _: False))
    }
    _check_own_text(root)
    if not inside:
        return
    circles = find_circles(inside)
    entered: set[str] = set()

    def is_followed(reference: str) -> bool:
        if reference not in circles:
            return True
        is_new = reference not in entered
        entered.add(reference)
        return is_new

    _Walk(root).through(root, is_followed)


def _check_object(visit: _Visit, *, is_top: bool) -> int:
    """Refuse what no part of a schema may have; how many `unevaluated…` there are by now."""
    # Either would change below it what a pointer means, or which rules are applied.
    for keyword in ("$id", "$schema"):
        if not is_top and isinstance(visit.node.get(keyword), str):
            raise UnsafeSchema(f"The response schema has a {keyword} below its top.")
    unevaluated = visit.unevaluated + any(keyword in visit.node for keyword in UNEVALUATED)
    if unevaluated > _MAX_UNEVALUATED:
        raise UnsafeSchema("The response schema nests `unevaluated…` keywords too deep.")
    return unevaluated


def references_of(node: Mapping[str, Any]) -> Iterator[str]:
    """The references that stand in an object of the schema itself."""
    return (node[word] for word in REFERENCES if isinstance(node.get(word), str))


def resolve(root: Mapping[str, Any], reference: str) -> Any:
    """The schema that a reference leads to.

    Raises:
        UnsafeSchema: it leads out of the schema, nowhere, or to what is no schema.
    """
    if reference == "#":
        return root
    if not reference.startswith("#/"):
        raise UnsafeSchema(
            f"The response schema's reference {reference!r} is refused: only "
            'pointers into the schema itself ("#", "#/$defs/…") are followed.'
        )
    node: Any = root
    # Unquoted first and split then, as the validator does: both must find the same place.
    for step in unquote(reference)[2:].split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping) and step in node:
            node = node[step]
        elif isinstance(node, list) and step.isdecimal() and int(step) < len(node):
            node = node[int(step)]
        else:
            raise UnsafeSchema(f"The response schema's reference {reference!r} leads nowhere.")
    if not isinstance(node, Mapping | bool):
        raise UnsafeSchema(f"The response schema's reference {reference!r} leads to no schema.")
    return node


def _check_own_text(root: Mapping[str, Any]) -> None:
    """Refuse more in the schema's own text than can be compiled while everybody waits."""
    patterns: set[str] = set()
    for count, part in enumerate(_subschemas(root), 1):
        if count > MAX_SUBSCHEMAS:
            raise UnsafeSchema(
                f"The response schema has over {MAX_SUBSCHEMAS} objects in it: what occurs more "
                "than once can stand in `$defs`, and be referred to."
            )
        if isinstance(part, Mapping):
            named = part.get("patternProperties")
            patterns.update(named if isinstance(named, Mapping) else ())
            if isinstance(pattern := part.get("pattern"), str):
                patterns.add(pattern)
    if len(patterns) > MAX_PATTERNS:
        raise UnsafeSchema(f"The response schema has over {MAX_PATTERNS} patterns.")


def _subschemas(node: Any) -> Iterator[Any]:
    """Whatever may be a schema within a schema, itself included; no choices of `enum`."""
    todo = [node]
    while todo:
        found = todo.pop()
        if isinstance(found, Mapping):
            todo.extend(
                value
                for name, value in found.items()
                if name not in ("enum", "examples") or not isinstance(value, list | tuple)
            )
        elif isinstance(found, list | tuple):
            todo.extend(found)
        if isinstance(found, Mapping | bool):
            yield found
