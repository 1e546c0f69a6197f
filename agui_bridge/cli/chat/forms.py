"""A form at the prompt: a line for each field, which is checked before the next is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agui_bridge.cli.chat.fields import NOTHING, AskedField, asked_fields
from agui_bridge.cli.chat.screen import Screen
from agui_bridge.cli.chat.typed import CANCEL, refuse, typed
from agui_bridge.protocol.answers.question_schemas import find_answer_fault
from agui_bridge.text.visible import visible_json, visible_line

__all__ = ["fill_form"]

_YES: Final = {"y": True, "yes": True, "n": False, "no": False}
_NOBODY: Final = f"{CANCEL} answers with: nobody decided."


def fill_form(screen: Screen, schema: Mapping[str, Any]) -> Any:
    """Ask for each field until it fits; gives the payload.

    What only several fields together can be wrong about is told at the end. Then they are asked
    for again, and what was typed stands there.

    Args:
        screen: where it is asked.
        schema: of the answer.

    Raises:
        Withdrawn, EOFError: see `typed`.
    """
    fields = asked_fields(schema)
    before: dict[str, Any] = {}
    while True:
        values = {field.name: _ask(screen, field, before) for field in fields}
        before = {name: value for name, value in values.items() if value is not NOTHING}
        payload = before[fields[0].name] if fields[0].whole else before
        fault = find_answer_fault(schema, payload)
        if fault is None:
            return payload
        refuse(screen.fail, f"{fault.rstrip('.')}. Each field is asked for again. {_NOBODY}")


def _ask(screen: Screen, field: AskedField, before: Mapping[str, Any]) -> Any:
    if field.hint:
        screen.note(" ".join(field.hint.split()))
    prefill = field.written(before[field.name]) if field.name in before else ""
    while True:
        value = _read(screen, field, prefill)
        fault = field.fault(value)
        if fault is None:
            return value
        refuse(screen.fail, f"{fault.rstrip('.')}. {_NOBODY}")
        prefill = ""


def _read(screen: Screen, field: AskedField, prefill: str) -> Any:
    """The value of a line that is understood; it may still have faults."""
    if field.field.type == "confirm":
        return _line(screen, field, " [y]es, [n]o", prefill, "y or n", _YES)
    options = {_shown(option): field.read(option) for option in field.field.options}
    if not options:
        return _line(screen, field, "", prefill, "Something must be typed here", None)
    names = list(options)
    if any(name.isdecimal() for name in names):
        # 2 would be the second, or the option that is called 2.
        for name in names:
            screen.say_shown(f"  {name}")
        return _line(screen, field, ", one of these", prefill, "one of these", options)
    for number, name in enumerate(names, start=1):
        screen.say_shown(f"  {number}  {name}")
    words = options | {str(number): options[name] for number, name in enumerate(names, start=1)}
    return _line(screen, field, ", a number", prefill, f"a number from 1 to {len(names)}", words)


def _shown(option: str) -> str:
    # Two may differ by a blank; one of none at all would be Enter.
    return option if option and option == visible_line(option) else visible_json(option)


def _line(
    screen: Screen,
    field: AskedField,
    keys: str,
    prefill: str,
    wanted: str,
    words: Mapping[str, Any] | None,
) -> Any:
    """Read a line until it is one of the words, if there are any; empty ones where they may be."""
    while True:
        said = typed(screen, f"{field.label}{keys}{field.otherwise} > ", prefill)
        if not said and (empty := field.empty()) is not None:
            return empty[0]
        if words is None and said:
            return field.read(said)
        found = said.lower() if words is _YES else said
        if said and words is not None and found in words:
            return words[found]
        refuse(screen.note, f"{wanted}, or {CANCEL}.")
