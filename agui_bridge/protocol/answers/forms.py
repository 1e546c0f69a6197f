"""Form fields and JSON Schema, each made from the other.

A form field is SuperAgent's `InputField`: name, type `text | confirm | select`, label, required,
options. Source: SuperAgent's page "Interrupt/Resume".

From fields to a schema nothing is lost. From a schema to fields only a flat form comes out:

| schema of a property                        | field     |
|---------------------------------------------|-----------|
| `boolean`                                   | `confirm` |
| `enum` or `const` of strings and numbers    | `select`  |
| `string`, `number`, `integer`, anything else | `text`    |
| `anyOf` or `type` with `null` beside one of these | that one, not required |
| `anyOf` with a decline beside one of these | that one; the decline is the surface's to show |

What a field can't say is left to the check of the answer: bounds, patterns, formats, numbers as
such, nested objects and arrays (to be typed as JSON), defaults. A schema that is no object is
asked for in one field called `value`. `payload_from_input` turns what such a form brings back
into what the schema asks for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from agui_bridge.protocol.answers.decisions import is_decline_schema
from agui_bridge.protocol.json_values import find_forbidden
from agui_bridge.protocol.threads.records import Json

# --- the language in which people are asked, English or Chinese ---
#
# What they are shown beside is in it.
#
# A sentence of one language often has words of the other: names of tables and people, or a phrase
# that an agent was told to use ("Please confirm: 即将删除 1,234 条记录"). So its grammar counts
# first, that is particles, pronouns and punctuation; where it has none, which words are more.

Language = Literal["en", "zh"]

CONFIRM: Final[Mapping[Language, str]] = {"en": "Confirm", "zh": "确认"}
"""The label of a form's only field, where it asks for a yes."""

_CODE: Final = re.compile("`+[^`]*`+")
_HAN: Final = re.compile("[\u3400-\u9fff]")
_KANA: Final = re.compile("[\u3040-\u30ff]")
_WORD: Final = re.compile("[A-Za-z][A-Za-z'\u2019]*")
_CHINESE_GRAMMAR: Final = re.compile(
    "[的了吗嗎呢吧是否请請把将將要您你我们們这這那在和与與或被给給对對从從不，。？！；：、]"
)
_ENGLISH_GRAMMAR: Final = frozenset(
    _WORD.findall(
        """
        a an and are as at be before by can could do does for from has have i if in into is it may
        me my of on or shall should that the their them then these this those to was we what when
        which will with would you your
        """
    )
)
_WORDS_THAT_TELL: Final = 2


def language_of(*texts: str) -> Language:
    """The language of the first text that has one; English where none has.

    Args:
        *texts: what people are asked, and what stood around it. Code in them does not count.
    """
    return next(filter(None, map(_told_by, texts)), "en")


def _told_by(text: str) -> Language | None:
    text = _CODE.sub(" ", text)
    words = [word.lower() for word in _WORD.findall(text)]
    english = sum(word in _ENGLISH_GRAMMAR for word in words)
    han = len(_HAN.findall(text))
    # Japanese has no words here.
    if not han or _KANA.search(text):
        plain = sum(len(word) > 1 for word in words)
        return "en" if english or plain >= _WORDS_THAT_TELL else None
    chinese = len(_CHINESE_GRAMMAR.findall(text))
    if chinese != english:
        return "zh" if chinese > english else "en"
    return "zh" if han >= len(words) else "en"


FieldType = Literal["text", "confirm", "select"]

WHOLE_VALUE = "value"
"""Name of the only field of a form whose schema is no object."""


@dataclass(frozen=True, slots=True)
class FormField:
    """One field of a form.

    Attributes:
        name: the key of its value in the payload.
        type: text (a string), confirm (a boolean) or select (one of `options`).
        label: what people read; empty when there is none.
        required: whether it must be filled in.
        options: what a select offers, empty for the others.
    """

    name: str
    type: FieldType = "text"
    label: str = ""
    required: bool = False
    options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.type == "select") != bool(self.options):
            raise ValueError(f"field {self.name!r}: a select has options, and nothing else has.")

    @classmethod
    def from_json(cls, field: Mapping[str, Json]) -> FormField:
        """Read an `InputField` as it stands on the wire; an unknown type counts as text.

        Args:
            field: the object with `name`, `type`, `label`, `required` and `options`.

        Raises:
            ValueError: it has no name, or a select has no options.
        """
        name, kind = field.get("name"), field.get("type")
        if not isinstance(name, str):
            raise ValueError("a form field needs a `name`.")
        options = tuple(str(option) for option in field.get("options") or ())
        return cls(
            name,
            kind if kind in ("confirm", "select") else "text",
            str(field.get("label") or ""),
            field.get("required") is True,
            options if kind == "select" else (),
        )

    def to_json(self) -> dict[str, Json]:
        """Write it as an `InputField`."""
        field: dict[str, Json] = {
            "name": self.name,
            "type": self.type,
            "label": self.label,
            "required": self.required,
        }
        if self.options:
            field["options"] = list(self.options)
        return field


def schema_from_fields(fields: Iterable[FormField]) -> dict[str, Json]:
    """Make the response schema of a form.

    Args:
        fields: the form's fields; of two with one name the last counts.

    Returns:
        `{type: object, required, properties}`; an answer may bring more keys than the form has.
    """
    by_name = {field.name: field for field in fields}
    return {
        "type": "object",
        "required": [field.name for field in by_name.values() if field.required],
        "properties": {name: _property(field) for name, field in by_name.items()},
    }


def fields_from_schema(schema: Mapping[str, Json]) -> tuple[FormField, ...]:
    """Make the fields of a form that asks for what a response schema describes.

    Args:
        schema: a schema that `check_schema` accepted.

    Returns:
        A field for each property, in order; one called `value` when it is no object.
    """
    whole = resolve_schema(schema, schema)
    properties = whole.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        asks_nothing = whole.get("type") == "object"
        return () if asks_nothing else (_field(schema, WHOLE_VALUE, schema, required=True),)
    required = whole.get("required", ())
    return tuple(
        _field(schema, name, subschema, required=name in required)
        for name, subschema in properties.items()
    )


def payload_from_input(schema: Mapping[str, Json], values: Mapping[str, Json]) -> Json:
    """Turn what a form brought back into a payload for the schema it was made from.

    Texts become the numbers, options and JSON that their properties ask for where they can be
    read so; what can't is left as it is, for the check of the payload to name. A text is never
    read as a boolean: what people confirm is a JSON boolean or nothing. Empty texts of
    properties that are not required are left out.

    Args:
        schema: the schema that the form's fields were made from.
        values: by field name, texts and booleans; unknown names are kept.
    """
    whole = resolve_schema(schema, schema)
    properties = whole.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        if whole.get("type") == "object" or set(values) != {WHOLE_VALUE}:
            return dict(values)
        return _read(resolve_schema(schema, schema), values[WHOLE_VALUE])
    required = whole.get("required", ())
    return {
        name: _read(resolve_schema(schema, properties.get(name, {})), value)
        for name, value in values.items()
        if value != "" or name in required or name not in properties
    }


def _property(field: FormField) -> dict[str, Json]:
    subschema: dict[str, Json] = {"type": "boolean" if field.type == "confirm" else "string"}
    if field.options:
        subschema["enum"] = list(field.options)
    if field.label:
        subschema["title"] = field.label
    return subschema


def _field(root: Mapping[str, Json], name: str, subschema: Json, *, required: bool) -> FormField:
    label = _label(subschema)
    inner = resolve_schema(root, subschema)
    options = tuple(_option(choice) for choice in _choices(inner))
    kind: FieldType = "text"
    if options:
        kind = "select"
    elif inner.get("type") == "boolean":
        kind = "confirm"
    return FormField(name, kind, label or _label(inner), required, options)


def _label(subschema: Json) -> str:
    title = subschema.get("title") if isinstance(subschema, Mapping) else None
    return title if isinstance(title, str) else ""


def resolve_schema(
    root: Mapping[str, Json], subschema: Json, followed: frozenset[str] = frozenset()
) -> Mapping[str, Json]:
    """Follow a pointer, and take the one alternative beside null or a decline.

    Args:
        root: the whole schema.
        subschema: a part of it.
        followed: pointers that led here; one that comes back leads to a part without rules.
    """
    if not isinstance(subschema, Mapping):
        return {}
    reference = subschema.get("$ref")
    if isinstance(reference, str) and (reference == "#" or reference.startswith("#/")):
        if reference in followed:
            return {}
        node: Any = root
        for step in reference.split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            node = _member(node, step)
        return resolve_schema(root, node, followed | {reference})
    for word in ("anyOf", "oneOf"):
        others = [
            s
            for s in subschema.get(word) or ()
            if s != {"type": "null"} and not is_decline_schema(s)
        ]
        if len(others) == 1:
            return resolve_schema(root, others[0], followed)
    kinds = subschema.get("type")
    if isinstance(kinds, list):
        others = [kind for kind in kinds if kind != "null"]
        return {**subschema, "type": others[0]} if len(others) == 1 else subschema
    return subschema


def _member(node: Any, step: str) -> Any:
    if isinstance(node, list | tuple):
        # A question that may be declined has its answer's schema at `/anyOf/0`.
        return node[int(step)] if step.isdecimal() and int(step) < len(node) else None
    return node.get(step) if isinstance(node, Mapping) else None


def _choices(subschema: Mapping[str, Json]) -> list[Json]:
    """What may be chosen, if all of it can be written as an option."""
    choices = [subschema["const"]] if "const" in subschema else subschema.get("enum") or []
    plain = [c for c in choices if isinstance(c, str | int | float) and not isinstance(c, bool)]
    written = {_option(choice) for choice in plain}
    some = [c for c in choices if c is not None]
    return plain if len(plain) == len(some) == len(written) else []


def _option(choice: Json) -> str:
    return choice if isinstance(choice, str) else json.dumps(choice)


def _read(subschema: Mapping[str, Json], value: Json) -> Json:
    if not isinstance(value, str):
        return value
    for choice in _choices(subschema):
        if _option(choice) == value:
            return choice
    kind = subschema.get("type")
    if kind not in ("number", "integer", "object", "array"):
        return value
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        return value
    fits = {"object": dict, "array": list}.get(str(kind), (int, float))
    fitting = isinstance(read, fits) and not isinstance(read, bool)
    return read if fitting and find_forbidden(read) is None else value
