"""One field of a form at the prompt: what is said of it, and what a line stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agui_bridge.cli.chat.typed_json import read_json
from agui_bridge.protocol.answers.forms import (
    WHOLE_VALUE,
    FormField,
    fields_from_schema,
    payload_from_input,
    resolve_schema,
)
from agui_bridge.protocol.answers.question_schemas import find_answer_fault, rooted
from agui_bridge.text.visible import visible_json, visible_line, visible_word

__all__ = ["NOTHING", "AskedField", "asked_fields"]

NOTHING: Final = object()
"""No value: an optional field that is left out."""

_WHOLE: Final = "whole"
_HOW: Final = {"object": ", a JSON object", "array": ", a JSON list", "": ", text or JSON"}
"""How a value is typed that is no text and no number, by its type; "" is any or several."""

_PLAIN: Final = ("string", "number", "integer")


@dataclass(frozen=True)
class AskedField:
    """A field, and the rules for its value.

    Attributes:
        field: as the schema's form has it.
        alone: the schema of an object with this field and no other, or of the whole answer.
        inner: the rules of the value itself, pointers followed.
        whole: whether the value is the whole answer.
    """

    field: FormField
    alone: Mapping[str, Any]
    inner: Mapping[str, Any]
    whole: bool = False

    @property
    def name(self) -> str:
        """Its key in the answer."""
        return self.field.name

    @property
    def label(self) -> str:
        """Its name, and how its value is typed if that is no plain text or number."""
        name = self.field.label or ("answer" if self.whole else self.name)
        how = _HOW.get(self._kind, "") if self.field.type == "text" else ""
        if self.whole and self._kind == "object" and self.fault({}) is None:
            how += " ({}: an empty one)"
        return visible_line(name) + how

    @property
    def otherwise(self) -> str:
        """What an empty line means, if it means anything."""
        empty = self.empty()
        if empty is None:
            return ""
        value = empty[0]
        if value in (NOTHING, None):
            return " (Enter: nothing)"
        typed = self.written(value)
        return f" (Enter: {visible_word(typed) if typed == value else typed})"

    @property
    def hint(self) -> str:
        """What its schema says of it, for people."""
        said = self.inner.get("description")
        return said.strip() if isinstance(said, str) else ""

    @property
    def _kind(self) -> str:
        kind = self.inner.get("type")
        return kind if isinstance(kind, str) else ""

    def written(self, value: Any) -> str:
        """A value as it would be typed."""
        if isinstance(value, bool) and self.field.type == "confirm":
            return "yes" if value else "no"
        # Where JSON may stand, the text "7" would be read as a number without its quotes.
        is_text = isinstance(value, str) and self.read(value) == value
        return value if is_text else visible_json(value)

    def fault(self, value: Any) -> str | None:
        """What is wrong with a value by itself, None if nothing is."""
        if self.whole:
            return find_answer_fault(self.alone, value)
        fault = find_answer_fault(self.alone, {} if value is NOTHING else {self.name: value})
        # Which field it is, the prompt says.
        return fault and fault.removeprefix(f"/{self.name}: ")

    def empty(self) -> tuple[Any] | None:
        """What an empty line stands for; None where something must be typed."""
        # Nobody approves by pressing Enter.
        default = None if self.name == "approved" else self.inner.get("default")
        if default is not None and self.fault(default) is None:
            return (default,)
        if not self.field.required:
            return (NOTHING,)
        # Enter alone would send a whole answer of null: that is typed.
        return (None,) if not self.whole and self.fault(None) is None else None

    def read(self, text: str) -> Any:
        """What a line stands for, which may have faults."""
        readings = [self._as_form(text)]
        try:
            value = read_json(text)
        except ValueError:
            pass
        else:
            # Where anything may stand, 7 is a number; a text of it is typed in quotes.
            readings.insert(len(readings) if self._kind in _PLAIN else 0, value)
        return next((value for value in readings if self.fault(value) is None), readings[0])

    def _as_form(self, text: str) -> Any:
        key = WHOLE_VALUE if self.whole else self.name
        read = payload_from_input(self.alone, {key: text})
        if self.whole:
            return text if isinstance(read, Mapping) and read == {key: text} else read
        return read[key] if isinstance(read, Mapping) and key in read else text


def asked_fields(schema: Mapping[str, Any]) -> list[AskedField]:
    """The fields of an answer's form, at least one.

    Args:
        schema: of the answer.
    """
    whole = resolve_schema(schema, schema)
    found = fields_from_schema(schema)
    if not found or not whole.get("properties"):
        # Of an object without fields, too: a form without a line would answer itself.
        only = found[0] if found else FormField(WHOLE_VALUE, required=True)
        return [AskedField(only, schema, whole, whole=True)]
    # The references of a field may lead anywhere in the schema, so that goes along.
    document, draft = rooted(schema, f"#/$defs/{_WHOLE}")
    kept = {**draft, "$defs": {_WHOLE: document}}
    return [_alone(kept, resolve_schema(kept, document)["properties"], field) for field in found]


def _alone(kept: dict[str, Any], properties: Mapping[str, Any], field: FormField) -> AskedField:
    own = properties[field.name]
    alone = {
        **kept,
        "type": "object",
        "properties": {field.name: own},
        "required": [field.name] if field.required else [],
    }
    inner = resolve_schema(kept, own)
    # What stands beside a pointer, such as a default, goes before what stands where it leads.
    beside = own if isinstance(own, Mapping) else {}
    return AskedField(field, alone, {**inner, **{k: v for k, v in beside.items() if k != "type"}})
