"""Other arguments for a tool call: typed over the present ones, or in an editor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click

from agui_bridge.cli.chat.lines import has_editor, in_editor
from agui_bridge.cli.chat.screen import Screen
from agui_bridge.cli.chat.typed import refuse, typed
from agui_bridge.cli.chat.typed_json import read_json
from agui_bridge.protocol.answers.question_schemas import find_answer_fault
from agui_bridge.text.visible import visible_json

__all__ = ["edit_arguments"]

_ONE_LINE: Final = 160
"""Characters beyond which arguments are no pleasure to edit in a line."""


def edit_arguments(
    screen: Screen, present: Any, schema: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Ask for other arguments until they fit; None to go back, also if they stayed as they were.

    Args:
        screen: where it is asked.
        present: the arguments as they are.
        schema: of the answer, whose `editedArgs` they must satisfy; None: any object.

    Raises:
        Withdrawn, EOFError: see `typed`.
    """
    text = visible_json(present) if isinstance(present, Mapping) else ""
    while True:
        said = _changed(screen, text)
        if not said:
            return None
        try:
            value = read_json(said)
        except ValueError as error:
            refuse(screen.fail, f"that is no JSON: {error}")
        else:
            if visible_json(value) == visible_json(present):
                # Who only looked at them has not approved them.
                screen.note("Nothing is changed.")
                return None
            if not isinstance(value, dict):
                refuse(screen.fail, "the arguments are a JSON object.")
            elif fault := find_answer_fault(schema or {}, {"approved": True, "editedArgs": value}):
                refuse(screen.fail, fault)
            else:
                return value
        text = said


def _changed(screen: Screen, text: str) -> str:
    if len(text) > _ONE_LINE and has_editor():
        try:
            indented = visible_json(read_json(text), indent=2)
        except ValueError:
            indented = text
        try:
            saved = in_editor(indented)
        except click.ClickException as error:
            screen.fail(error.format_message())
        else:
            if saved is None:
                screen.note("Not saved: nothing is changed.")
            return (saved or "").strip()
    return typed(screen, "new arguments, a JSON object (an empty line: back) > ", text)
