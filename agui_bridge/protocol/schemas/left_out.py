"""What of a schema is left out of the check, so that a question is asked all the same.

Left out are patterns, or what of them no linear-time engine takes; references that come back to
where they stand without having gone into the value; and `unevaluated…` beside either of these or
beside `patternProperties`. What is left out lets more answers pass, and must never let fewer pass:
so around it `not`, `if` and a bound of `contains` are left out too, and of `oneOf` one or more may
match.

Source: docs/contract.md, C7 to C10.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from agui_bridge.protocol.schemas.patterns import Pattern, compile_pattern

__all__ = ["REFERENCES", "UNEVALUATED", "SchemaNode", "find_circles", "leave_out", "leaving_out"]

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
