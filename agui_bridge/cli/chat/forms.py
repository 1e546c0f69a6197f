"""A form at the prompt: a line for each field, which is checked before the next is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agui_bridge.cli.chat.screen import Screen, plain
from agui_bridge.cli.chat.typed import CANCEL, typed
from agui_bridge.protocol.answers.forms import (
    WHOLE_VALUE,
    FormField,
    fields_from_schema,
    payload_from_input,
    resolve_schema,
)
from agui_bridge.protocol.answers.question_schemas import find_answer_fault, rooted

__all__ = ["fill_form"]

_YES: Final = {"y": True, "yes": True, "n": False, "no": False}
_WHOLE: Final = "whole"


def fill_form(screen: Screen, schema: Mapping[str, Any]) -> Any:
    """Ask for each field until it fits; gives the payload.

    What only several fields together can be wrong about is checked with the whole answer.

    Args:
        screen: where it is asked.
        schema: of the answer.

    Raises:
        Withdrawn, EOFError: see `typed`.
    """
    values: dict[str, Any] = {}
    for field in fields_from_schema(schema):
        alone = _schema_of(schema, field)
        while True:
            value = _read(screen, field)
            fault = find_answer_fault(alone, payload_from_input(alone, {field.name: value}))
            if fault is None:
                break
            screen.fail(f"{fault.rstrip('.')}. {CANCEL} answers with: nobody decided.")
        values[field.name] = value
    return payload_from_input(schema, values)


def _schema_of(schema: Mapping[str, Any], field: FormField) -> Mapping[str, Any]:
    """The part of a schema that one field must satisfy by itself."""
    if field.name == WHOLE_VALUE:
        return schema
    # Its references may lead anywhere in the schema, so that goes along.
    document, draft = rooted(schema, f"#/$defs/{_WHOLE}")
    kept = {**draft, "$defs": {_WHOLE: document}}
    whole = resolve_schema(kept, document)
    return {
        **kept,
        "type": "object",
        "properties": {field.name: whole["properties"][field.name]},
        "required": [name for name in whole.get("required", ()) if name == field.name],
    }


def _read(screen: Screen, field: FormField) -> str | bool:
    label = plain(field.label or field.name)
    if field.type == "confirm":
        while (said := typed(screen, f"{label} [y]es, [n]o > ").lower()) not in _YES:
            screen.note(f"y or n, or {CANCEL}.")
        return _YES[said]
    if not field.options:
        optional = "" if field.required else " (Enter: nothing)"
        return typed(screen, f"{label}{optional} > ")
    for number, option in enumerate(field.options, start=1):
        screen.say(f"  {number}  {option}")
    while True:
        said = typed(screen, f"{label}, a number > ")
        if said in field.options:
            return said
        if said.isdecimal() and 0 < int(said) <= len(field.options):
            return field.options[int(said) - 1]
        if not said and not field.required:
            return ""
        screen.note(f"a number from 1 to {len(field.options)}, or {CANCEL}.")
