"""What of a schema is left out of the check, so that a question is asked all the same.

Left out are patterns, or what of them no linear-time engine takes; references that come back to
where they stand without having gone into the value; and `unevaluated…` beside either of these or
beside `patternProperties`. What is left out lets more answers pass, and must never let fewer pass:
so around it `not`, `if` and a bound of `contains` are left out too, and of `oneOf` one or more may
match.

Source: docs/contract.md, C7 to C10.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.schemas.patterns import Pattern, compile_pattern

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
UNEVALUATED: Final = ("unevaluatedProperties", "unevaluatedItems")

_IN_PLACE: Final = ("not", "if", "then", "else")
_IN_PLACE_LIST: Final = ("allOf", "anyOf", "oneOf")
_IN_PLACE_BY_NAME: Final = ("dependentSchemas", "dependencies")

_MOST_TOLD: Final = 10
_LONGEST_TOLD: Final = 100


class SchemaNode(dict[str, Any]):
    """An object of a schema.

    Attributes:
        left_out: its keywords that are not checked; of `oneOf` it is left out that no two match.
        loose: whether it lets more pass than it says.
        patterns: what is checked of its patterns, as `HasPatterns` has them.
    """

    left_out: frozenset[str] = frozenset()
    loose: bool = False
    patterns: Mapping[str, Pattern] = MappingProxyType({})

    def leave(self, *keywords: str) -> None:
        """Leave keywords that it has out of the check."""
        self.left_out = self.left_out.union(word for word in keywords if word in self)
        self.loose = True


class _Visit(NamedTuple):
    node: SchemaNode
    place: str
    above: SchemaNode | None


def find_circles(edges: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """The references of a schema that are in a circle or lie between two.

    Args:
        edges: by reference those within what it points at.
    """
    return _not_in_order(edges) & _not_in_order(_reversed(edges))


def leave_out(root: SchemaNode, targets: Mapping[str, Any]) -> tuple[str, ...]:
    """Note at each part of a schema what of it is not checked.

    Args:
        root: a schema of nothing but SchemaNodes, lists and scalars.
        targets: by reference what it points at, within `root`.

    Returns:
        What is left out, for people: a sentence for each part, with its place.
    """
    visits = list(_visits(root))
    said = dict(_patterns(visits))
    said |= _circles(visits, targets)
    unevaluated = [visit for visit in visits if any(word in visit.node for word in UNEVALUATED)]
    if said or any("patternProperties" in visit.node for visit in visits):
        for node, place, _ in unevaluated:
            node.leave(*UNEVALUATED)
            said[place] = f"{_place(place)}: `unevaluated…` is not checked."
    if said:
        _loosen(visits, targets)
    told = [text for _, text in zip(range(_MOST_TOLD), said.values(), strict=False)]
    if len(said) > _MOST_TOLD:
        told.append(f"{len(said) - _MOST_TOLD} more parts are not checked.")
    return tuple(told)


def leaving_out(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """A validator's keywords, made to heed what is left out."""
    return {name: _heeding(name, keywords) for name in keywords}


def _heeding(name: str, keywords: Mapping[str, Any]) -> Any:
    def check(validator: Any, value: Any, instance: Any, schema: SchemaNode) -> Iterator[Any]:
        keyword = keywords[name]
        if name in schema.left_out:
            if name != "oneOf":
                return
            keyword = keywords["anyOf"]
        yield from keyword(validator, value, instance, schema) or ()

    return check


# --- what can't be checked ---------------------------------------------------------------------


def _patterns(visits: Iterable[_Visit]) -> Iterator[tuple[str, str]]:
    for node, place, _ in visits:
        pattern, by_name = node.get("pattern"), node.get("patternProperties")
        names = list(by_name) if isinstance(by_name, dict) else []
        written = [pattern, *names] if isinstance(pattern, str) else names
        if not written:
            continue
        node.patterns = {source: compile_pattern(source) for source in written}
        if isinstance(pattern, str) and not node.patterns[pattern].exact:
            node.loose = True
            part = "in part only" if node.patterns[pattern].wanted else "not"
            told = f"{_place(place)}: `pattern` {_shown(pattern)} is {part} checked."
            yield f"{place}/pattern", told
        inexact = [name for name in names if not node.patterns[name].exact]
        if inexact:
            # Which other names it would have caught isn't known.
            node.leave("patternProperties", "additionalProperties")
            told = f"{_place(place)}: `patternProperties` {_shown(inexact[0])} is not checked."
            yield f"{place}/patternProperties", told


def _circles(visits: Iterable[_Visit], targets: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """References that lead back to themselves at the same value: they say nothing."""
    inside = {
        reference: {r for node in _in_place(target) for r in _references_of(node)}
        for reference, target in targets.items()
    }
    circles = find_circles(inside)
    if not circles:
        return
    places = {id(node): place for node, place, _ in visits}
    for reference in sorted(circles):
        for node in _in_place(targets[reference]):
            for word in REFERENCES:
                if node.get(word) in circles and word not in node.left_out:
                    node.leave(word)
                    place = places[id(node)]
                    yield (
                        f"{place}/{word}",
                        f"{_place(place)}: {_shown(node[word])} is circular and is not checked.",
                    )


def _in_place(schema: Any) -> Iterator[SchemaNode]:
    """A schema and those within it that are about the same value."""
    if not isinstance(schema, SchemaNode):
        return
    yield schema
    for word, value in schema.items():
        if word in _IN_PLACE:
            yield from _in_place(value)
        elif word in _IN_PLACE_LIST and isinstance(value, list):
            for inner in value:
                yield from _in_place(inner)
        elif word in _IN_PLACE_BY_NAME and isinstance(value, dict):
            for inner in value.values():
                yield from _in_place(inner)


def _references_of(node: SchemaNode) -> Iterator[str]:
    return (node[word] for word in REFERENCES if isinstance(node.get(word), str))


# --- what must not be checked therefore ----------------------------------------------------------


def _loosen(visits: list[_Visit], targets: Mapping[str, Any]) -> None:
    """Leave out what could now refuse a proper answer because too much passes below it."""
    above: dict[int, list[SchemaNode]] = {}
    for node, _, parent in visits:
        if parent is not None:
            above.setdefault(id(node), []).append(parent)
        for reference in _references_of(node):
            above.setdefault(id(targets.get(reference)), []).append(node)
    todo = [visit.node for visit in visits if visit.node.loose]
    while todo:
        for node in above.get(id(todo.pop()), ()):
            if not node.loose:
                node.loose = True
                todo.append(node)
    for node, _, _ in visits:
        for word in ("not", "if", "contains"):
            if _is_loose(node.get(word)) and (word != "contains" or "maxContains" in node):
                node.leave(word)
        one_of = node.get("oneOf")
        if isinstance(one_of, list) and any(map(_is_loose, one_of)):
            node.leave("oneOf")


def _is_loose(schema: Any) -> bool:
    return isinstance(schema, SchemaNode) and schema.loose


# --- walking -----------------------------------------------------------------------------------


def _visits(root: SchemaNode) -> Iterator[_Visit]:
    todo: list[tuple[Any, str, SchemaNode | None]] = [(root, "", None)]
    while todo:
        node, place, above = todo.pop()
        if isinstance(node, SchemaNode):
            yield _Visit(node, place, above)
            todo += ((value, f"{place}/{name}", node) for name, value in node.items())
        elif isinstance(node, list):
            todo += ((value, f"{place}/{index}", above) for index, value in enumerate(node))


def _not_in_order(edges: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """Those in a circle, or from which one leads into a circle."""
    sorter = TopologicalSorter(edges)
    # What can be put in order is given all the same.
    with suppress(CycleError):
        sorter.prepare()
    ordered: set[str] = set()
    while ready := sorter.get_ready():
        ordered.update(ready)
        sorter.done(*ready)
    return frozenset(edges) - ordered


def _reversed(edges: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    back: dict[str, list[str]] = {name: [] for name in edges}
    for name, inside in edges.items():
        for inner in inside:
            back[inner].append(name)
    return back


def _place(place: str) -> str:
    return _cut(place) or "the answer"


def _shown(text: Any) -> str:
    return repr(_cut(str(text)))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TOLD else text[:_LONGEST_TOLD] + "…"


# --- bounds of a response schema: what may be compiled, before anything is ---

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


class _BoundedVisit(NamedTuple):
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
        todo = deque([_BoundedVisit(node)])
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
                        todo.append(
                            _BoundedVisit(resolve(self._root, reference), depth, unevaluated)
                        )
                todo.extend(_BoundedVisit(value, depth, unevaluated) for value in node.values())
            elif isinstance(node, list | tuple):
                todo.extend(_BoundedVisit(value, depth, unevaluated) for value in node)
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


def _check_object(visit: _BoundedVisit, *, is_top: bool) -> int:
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
