"""What is wrong with a file, told for people: where, what is allowed, what may be meant.

A value is never repeated: it may be a secret.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from agui_bridge.errors import ConfigurationError
from agui_bridge.yaml_files.document import KeyPath

_WORDS = {
    "missing": "is missing",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "string_type": "must be text; write it in quotes",
    "list_type": "must be a list, such as [a, b]",
    "dict_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
    "finite_number": "must be a finite number",
}
_BOUNDS = {
    "greater_than": ("must be above {}", "gt"),
    "greater_than_equal": ("must be at least {}", "ge"),
    "less_than_equal": ("must be at most {}", "le"),
    "string_pattern_mismatch": ("must be of the form {}", "pattern"),
}


def refusal(source: str, faults: list[str]) -> ConfigurationError:
    """One error for all that is wrong with a source; a fault names its own place."""
    if len(faults) == 1:
        return ConfigurationError(faults[0])
    lines = "\n".join(f"  {fault}" for fault in faults)
    return ConfigurationError(f"{source} has {len(faults)} faults:\n{lines}")


def refusal_of(
    error: ValidationError,
    model: type[BaseModel],
    source: str,
    place: Callable[[KeyPath], str],
    line_of: Callable[[KeyPath], int] = lambda _: 0,
) -> ConfigurationError:
    """The same, of what pydantic found.

    Args:
        error: what it found.
        model: what was expected.
        source: name of the whole.
        place: where a value comes from, such as `bridge.yaml:3: server.port`.
        line_of: the line of a value, by which the faults are sorted, where there are lines.
    """
    faults = []
    found = error.errors(include_url=False, include_input=False)
    for fault in sorted(found, key=lambda fault: line_of(fault["loc"])):
        where = fault["loc"]
        if fault["type"] == "extra_forbidden":
            where, name = where[:-1], str(where[-1])
            # The key's own line, but its mapping's name: it is the key that is wrong.
            said = f"{place((*where, name))}: unknown key{_meant(name, _section_at(model, where))}"
        else:
            said = f"{place(where)}: {_told(fault)}"
        faults.append(said)
    return refusal(source, faults)


def _told(fault: ErrorDetails) -> str:
    kind, context = fault["type"], fault.get("ctx", {})
    if kind in _WORDS:
        return f"{_WORDS[kind]}."
    if kind == "literal_error":
        several = " or " in context["expected"]
        expected = context["expected"].replace(" or ", ", ")
        return f"must be {'one of ' if several else ''}{expected}."
    if kind in _BOUNDS:
        words, bound = _BOUNDS[kind]
        limit = context[bound]
        if isinstance(limit, float):
            limit = f"{limit:g}"
        if kind == "string_pattern_mismatch":
            limit = "64 hexadecimal digits" if "fA-F" in str(limit) else "module:variable"
        return f"{words.format(limit)}."
    if kind == "value_error":
        return f"{context['error']}."
    if kind in ("too_short", "string_too_short"):
        return "must not be empty."
    return f"{fault['msg']}."


def _meant(name: str, section: type[BaseModel]) -> str:
    allowed = list(section.model_fields)
    # A key of one section is often written beside it: settings.expires_in as expires_in.
    inner = {
        part: list(kind.model_fields)
        for part in allowed
        if _is_section(kind := _below(section, part))
    }
    every = [key for keys in inner.values() for key in keys]
    near = [name] if name in every else get_close_matches(name, allowed, 1)
    if not near or near[0] not in allowed:
        near = near or get_close_matches(name, every, 1)
        near = [f"{part}.{key}" for key in near for part, keys in inner.items() if key in keys]
    if near:
        return f"; did you mean {' or '.join(map(repr, near))}?"
    return f". Allowed are {', '.join(allowed)}."


def _section_at(model: type[BaseModel], where: KeyPath) -> type[BaseModel]:
    """What a model has at a place below it."""
    kind: Any = model
    for step in where:
        kind = _below(kind, step)
    section: type[BaseModel] = kind
    return section


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _below(kind: Any, step: str | int) -> Any:
    if _is_section(kind):
        return _plain(kind.model_fields[str(step)].annotation)
    return _plain(get_args(kind)[-1])


def _plain(kind: Any) -> Any:
    """A type without `| None` and annotations."""
    while True:
        if get_origin(kind) in (Union, types.UnionType):
            kind = next(arg for arg in get_args(kind) if arg is not type(None))
        elif hasattr(kind, "__metadata__"):
            kind = get_args(kind)[0]
        else:
            return kind
