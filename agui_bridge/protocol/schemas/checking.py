"""JSON Schemas of answers: refused when they could hurt, compiled once, checked fast.

Schemas come from tools and models, payloads from clients. A schema that is invalid, refers
elsewhere, or expands beyond bounds is refused. One that refers to itself is checked as deep as the
payload goes; patterns run on a linear-time engine, and what of them can't is left out.
Source: docs/contract.md, C3 to C12.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic_core import PydanticSerializationError, to_json

from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.json_values import canonical
from agui_bridge.protocol.schemas.check_work import (
    MAX_CHECK_STEPS,
    CheckWork,
    TooMuchWork,
    counted,
    counting_work,
)
from agui_bridge.protocol.schemas.left_out import (
    MAX_SCHEMA_LENGTH,
    SchemaNode,
    UnsafeSchema as UnsafeSchema,
    leave_out,
    leaving_out,
    measure,
    references_of,
    resolve,
)
from agui_bridge.protocol.schemas.patterns import PATTERN_KEYWORDS, check_format

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

# --- plain schemas, whose valid values are told from all others without jsonschema ---
#
# Most questions ask for an object of a few members. Of a schema that consists of the keywords here,
# and of nothing else, a check is made that says yes only where jsonschema would. Whatever it does
# not say yes to, jsonschema judges, and says what is wrong.

Check = Callable[[Any], bool]
"""Whether a value is valid for certain."""

_MOST: Final = 200
"""Members of an object or array; the work on larger ones is counted, so jsonschema has them."""

_PLAIN_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
"""The types of the values that are certainly of a schema's type: `True` is no `int` here."""

_SAYING_NOTHING: Final = frozenset(
    {"$comment", "default", "deprecated", "description", "examples", "title"}
)
_OF_OBJECTS: Final = frozenset({"type", "properties", "required", "additionalProperties"})
_OF_ARRAYS: Final = frozenset({"type", "items", "minItems", "maxItems"})
_OF_NUMBERS: Final = frozenset({"type", "minimum", "maximum"})
_OF_STRINGS: Final = frozenset({"type", "enum", "minLength", "maxLength"})


def plain_check(schema: Any) -> Check | None:
    """The check of a schema; None where it is not plain.

    Args:
        schema: valid against its draft, whichever of those that are supported.
    """
    if not isinstance(schema, dict):
        return None
    keywords = schema.keys() - _SAYING_NOTHING
    if not keywords:
        return _anything
    kind = schema.get("type")
    if not isinstance(kind, str):
        return None
    if keywords == {"type"}:
        return _of_types(_PLAIN_TYPES[kind])
    made, known = _MADE.get(kind, (None, frozenset[str]()))
    return made(schema) if made is not None and keywords <= known else None


def _anything(_: Any) -> bool:
    return True


def _of_types(types: Collection[type]) -> Check:
    return lambda value: type(value) in types


def _object(schema: Mapping[str, Any]) -> Check | None:
    named: Mapping[str, Any] = schema.get("properties", {})
    members = {name: plain_check(each) for name, each in named.items()}
    more = schema.get("additionalProperties", True)
    rest = _anything if more is True else plain_check(more)
    if None in members.values() or (rest is None and more is not False):
        return None
    required: tuple[str, ...] = tuple(schema.get("required", ()))

    def check(value: Any) -> bool:
        if type(value) is not dict or len(value) > _MOST:
            return False
        for name in required:
            if name not in value:
                return False
        for name, item in value.items():
            member = members.get(name, rest)
            if member is None or not member(item):
                return False
        return True

    return check


def _array(schema: Mapping[str, Any]) -> Check | None:
    item = plain_check(schema.get("items", {}))
    least, most = schema.get("minItems", 0), min(schema.get("maxItems", _MOST), _MOST)
    if item is None:
        return None
    return lambda value: (
        type(value) is list and least <= len(value) <= most and all(map(item, value))
    )


def _number(schema: Mapping[str, Any]) -> Check:
    types = _PLAIN_TYPES[schema["type"]]
    least, most = schema.get("minimum", float("-inf")), schema.get("maximum", float("inf"))
    return lambda value: type(value) in types and least <= value <= most


def _string(schema: Mapping[str, Any]) -> Check | None:
    options = schema.get("enum")
    if options is not None:
        allowed = frozenset(option for option in options if isinstance(option, str))
    least, most = schema.get("minLength", 0), schema.get("maxLength", float("inf"))
    return lambda value: (
        type(value) is str and least <= len(value) <= most and (options is None or value in allowed)
    )


_MADE: Final[Mapping[str, tuple[Callable[[Mapping[str, Any]], Check | None], frozenset[str]]]] = {
    "array": (_array, _OF_ARRAYS),
    "integer": (_number, _OF_NUMBERS),
    "number": (_number, _OF_NUMBERS),
    "object": (_object, _OF_OBJECTS),
    "string": (_string, _OF_STRINGS),
}
"""What makes the check, and the keywords that it knows, by the type that a schema asks for."""


# --- the check ---

_MAX_FAULT_LENGTH = 300
_MAX_PLACE_LENGTH = 120
_MAX_FAULTS = 100

_DRAFTS = {
    "http://json-schema.org/draft-06/schema": "Draft6Validator",
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    "https://json-schema.org/draft/2020-12/schema": "Draft202012Validator",
}


def check_schema(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Refuse a response schema that is no valid JSON Schema object or could do harm.

    Args:
        schema: a JSON Schema, an object, of draft 6, 7, 2019-09 or 2020-12 (the default).

    Returns:
        What of it `find_schema_fault` leaves out, in sentences for people: patterns that the
        linear-time engine can't run, circles that say nothing.

    Raises:
        UnsafeSchema: it names what is wrong: not an object, invalid, a remote `$ref`, too large
            once expanded, too deep.
    """
    if not isinstance(schema, Mapping):
        raise UnsafeSchema(f"A response schema must be an object, not {type(schema).__name__}.")
    measure(schema)
    return _compiled(schema).left_out


def require_checkable(option: str, schemas: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse schemas of an adapter's author that can't be checked, or not whole.

    Args:
        option: what the author calls them.
        schemas: by any name.

    Raises:
        ConfigurationError: it names the schema and what is wrong.
    """
    for name, schema in schemas.items():
        try:
            left_out = check_schema(schema)
        except UnsafeSchema as error:
            raise ConfigurationError(f"{option}[{name!r}]: {error}") from None
        if left_out:
            raise ConfigurationError(
                f"{option}[{name!r}]: {left_out[0]} Write it otherwise, or leave it out: "
                "what stands in this schema is checked."
            )


def find_schema_fault(
    schema: Mapping[str, Any], value: Any, work: CheckWork | None = None
) -> str | None:
    """Check a value against a schema.

    Args:
        schema: a schema that `check_schema` accepted.
        value: any JSON value.
        work: what may be done for this and other values together; None is as much as one input
            may take.

    Returns:
        None when it is valid, else one sentence that names the place and the rule, or says that
        the check would take too much work.
    """
    compiled = _compiled(schema)
    if compiled.plain is not None and compiled.plain(value):
        return None
    # More faults than a few are not collected: a large payload may have one per item.
    try:
        with counting_work(work or CheckWork()):
            errors = list(islice(compiled.validator.iter_errors(value), _MAX_FAULTS))
    except RecursionError:
        return "the payload: it nests too deep to be checked against its schema."
    except OverflowError:
        return "the payload: a number is too large to be checked."
    except TooMuchWork:
        return (
            "the payload: it is too large for its schema; to check all answers of an input may "
            f"take {MAX_CHECK_STEPS} steps."
        )
    if not errors:
        return None
    error = _nearest(errors)
    while error.validator == "anyOf" and _is_of_one_alternative(error):
        error = _nearest(error.context or ())
    place = "".join(f"/{step}" for step in error.absolute_path) or "the payload"
    if len(place) > _MAX_PLACE_LENGTH:
        place = place[:_MAX_PLACE_LENGTH] + "…"
    text = f"{place}: {told_fault(error)}"
    if len(text) > _MAX_FAULT_LENGTH:
        text = f"{place}: does not satisfy `{error.validator}` of its schema."
    return text


def _nearest(errors: Iterable[ValidationError]) -> ValidationError:
    """The fault nearest to the root, which says most."""
    return min(errors, key=lambda e: (len(e.absolute_path), str(e.validator)))


def _is_of_one_alternative(error: ValidationError) -> bool:
    """Whether there is a single alternative, so that what is wrong is what it says."""
    found = error.context or ()
    return bool(found) and all(list(e.relative_schema_path)[:1] == [0] for e in found)


def is_known_draft(uri: Any) -> bool:
    """Tell whether a `$schema` names a draft of JSON Schema that is supported."""
    return isinstance(uri, str) and uri.rstrip("#") in _DRAFTS


# --- compilation -------------------------------------------------------------------------------


class _Compiled(NamedTuple):
    """A schema that can be checked, what of it is not, and the check of what is plain in it."""

    validator: Validator
    left_out: tuple[str, ...]
    plain: Check | None


def _compiled(schema: Mapping[str, Any]) -> _Compiled:
    """A schema compiled, found by its text.

    The text of the schema as it is takes a small part of the time that canonical text does, which
    is longer than the check itself.
    """
    try:
        return _compile_as_written(to_json(schema))
    except (PydanticSerializationError, ValueError):
        return _compile(canonical(schema))


@lru_cache(maxsize=256)
def _compile_as_written(text: bytes) -> _Compiled:
    return _compile(canonical(json.loads(text)))


@lru_cache(maxsize=256)
def _compile(text: str) -> _Compiled:
    """Compile a schema given as canonical JSON (equal schemas share one validator)."""
    if len(text) > MAX_SCHEMA_LENGTH:
        raise UnsafeSchema(f"The response schema is longer than {MAX_SCHEMA_LENGTH} characters.")
    import jsonschema
    from jsonschema.validators import extend
    from referencing import Registry

    schema = json.loads(text, object_hook=SchemaNode)
    draft = schema.pop("$schema", "https://json-schema.org/draft/2020-12/schema")
    if not is_known_draft(draft):
        raise UnsafeSchema(
            f"The response schema's $schema {draft!r} is not supported: "
            "leave it out, or use draft 6, 7, 2019-09 or 2020-12."
        )
    cls = getattr(jsonschema, _DRAFTS[draft.rstrip("#")])
    targets = {reference: resolve(schema, reference) for reference in _references(schema)}
    # What a reference points at acts as a schema, wherever it stands.
    parts = {id(part): part for part in (schema, *targets.values())}
    for part in parts.values():
        try:
            # No check of formats: that of "regex" is Python's, but RE2 is what runs them.
            cls.check_schema(part, format_checker=None)
        except jsonschema.SchemaError as error:
            message = error.message[:_MAX_FAULT_LENGTH].rstrip(".")
            raise UnsafeSchema(f"The response schema is invalid: {message}.") from None
    left_out = leave_out(schema, targets)
    keywords = {**cls.VALIDATORS, **_KEYWORDS}
    if left_out:
        keywords = leaving_out(keywords)
    linear: Any = extend(cls, keywords)  # type: ignore[no-untyped-call]  # its stubs lack types
    validator = counted(linear)(schema, registry=Registry())
    return _Compiled(validator, left_out, plain_check(schema) if not left_out else None)


def _references(node: Any) -> Iterator[str]:
    """Every reference within a schema."""
    if isinstance(node, dict):
        yield from references_of(node)
    if isinstance(node, dict | list):
        for value in node.values() if isinstance(node, dict) else node:
            yield from _references(value)


# --- a keyword that would take more than linear time as jsonschema has it ------------------------


def _unique_items(_: Any, unique: bool, instance: Any, __: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if unique and isinstance(instance, list):
        seen = {canonical(_with_plain_numbers(item)) for item in instance}
        if len(seen) < len(instance):
            yield ValidationError("the items are not all different")


def _with_plain_numbers(value: Any) -> Any:
    """Write 1.0 as 1: to JSON Schema they are the same number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _with_plain_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_plain_numbers(item) for item in value]
    return value


_KEYWORDS = {**PATTERN_KEYWORDS, "format": check_format, "uniqueItems": _unique_items}


_LONGEST_VALUE: Final = 60

_TYPES: Final = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}

_BOUNDS: Final = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be above {}",
    "exclusiveMaximum": "must be below {}",
    "multipleOf": "must be a multiple of {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} items",
    "maxItems": "must have at most {} items",
    "minProperties": "must have at least {} members",
    "maxProperties": "must have at most {} members",
    "format": "must have the format {}",
    "pattern": "must match the pattern {}",
    "const": "must be {}",
}


def told_fault(error: ValidationError) -> str:
    """Say what a value must be.

    Args:
        error: what the check found; its `validator` is the keyword that is not satisfied.

    Returns:
        The end of a sentence that begins with the place of the value, without a full stop.
    """
    keyword = str(error.validator)
    rule: Any = error.validator_value
    if keyword in ("minLength", "minItems", "minProperties") and rule == 1:
        return "must not be empty"
    if keyword in _BOUNDS:
        return _BOUNDS[keyword].format(_json(rule)) + _instead(error.instance)
    say = _WORDS.get(keyword)
    return error.message.rstrip(".") if say is None else say(rule, error.instance)


def _type(rule: Any, value: Any) -> str:
    names = [rule] if isinstance(rule, str) else rule
    kinds = " or ".join(_TYPES.get(name, name) for name in names)
    return f"must be {kinds}{_instead(value)}"


def _required(rule: Any, value: Any) -> str:
    missing = [_json(name) for name in rule if name not in value]
    return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"


def _enum(rule: Any, value: Any) -> str:
    return f"must be one of {', '.join(map(_json, rule))}{_instead(value)}"


def _instead(value: Any) -> str:
    """What there is in its place, where that is short."""
    found = _json(value)
    return f", not {found}" if len(found) <= _LONGEST_VALUE else ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_WORDS: Final[Mapping[str, Callable[[Any, Any], str]]] = {
    "type": _type,
    "required": _required,
    "enum": _enum,
    "anyOf": lambda _, value: f"must fit one of the shapes that are allowed{_instead(value)}",
    "oneOf": lambda _, value: (
        f"must fit exactly one of the shapes that are allowed{_instead(value)}"
    ),
    "uniqueItems": lambda _, __: "must not have an item twice",
}
