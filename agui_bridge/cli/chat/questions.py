"""What people answer at the prompt: approvals, confirmations, forms, anything else as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from ag_ui.core import Interrupt

from agui_bridge.cli.chat.screen import Screen, is_approval, plain
from agui_bridge.client import Cancelled, Client, Resolved, is_expired
from agui_bridge.protocol.answers.forms import FormField, fields_from_schema, payload_from_input
from agui_bridge.protocol.answers.question_schemas import DECLINED, has_decline
from agui_bridge.protocol.schemas.checking import UnsafeSchema, check_schema

__all__ = ["QUIT", "answer_all"]

CANCEL: Final = "/cancel"
QUIT: Final = "/quit"
_YES: Final = {"y": True, "yes": True, "n": False, "no": False}

Answer = Resolved | Cancelled


class _Cancel(Exception):
    """Somebody typed /cancel."""


def answer_all(client: Client, screen: Screen) -> dict[str, Answer]:
    """Ask one open question after the other.

    Raises:
        EOFError: the input ended, or somebody typed /quit.
        KeyboardInterrupt: Ctrl-C; in either case nothing was sent and all stays open.
    """
    open_now = client.pending_interrupts
    answers: dict[str, Answer] = {}
    for number, interrupt in enumerate(open_now, start=1):
        position = f" {number} of {len(open_now)}" if len(open_now) > 1 else ""
        screen.question(client, interrupt, position)
        if is_expired(interrupt):
            # Asked for all the same: where a cancel fails, the question comes again at once.
            screen.read("The time to answer is over. Enter: cancel it > ")
            answers[interrupt.id] = Cancelled()
            continue
        try:
            answers[interrupt.id] = Resolved(_payload(client, screen, interrupt))
        except _Cancel:
            answers[interrupt.id] = Cancelled()
    return answers


def _payload(client: Client, screen: Screen, interrupt: Interrupt) -> Any:
    schema = _usable(interrupt.response_schema)
    if is_approval(client, interrupt):
        return _approval(screen, schema)
    if has_decline(schema) and not _will_answer(screen):
        return {DECLINED: True, **_reason(screen)}
    if schema is None:
        return _anything(screen, "answer (text or JSON) > ")
    fields = fields_from_schema(schema)
    return payload_from_input(schema, {field.name: _field(screen, field) for field in fields})


def _usable(schema: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The schema, if a form can be made of it without harm."""
    if schema is None:
        return None
    try:
        check_schema(schema)
    except UnsafeSchema:
        return None
    return schema


def _approval(screen: Screen, schema: Mapping[str, Any] | None) -> dict[str, Any]:
    offered = (schema or {}).get("properties", {})
    editable, takes_text = "editedArgs" in offered, "respond" in offered
    more = f"{'[e]dit, ' if editable else ''}{'[r]espond, ' if takes_text else ''}"
    while True:
        said = _line(screen, f"[y]es, [n]o, {more}[c]ancel > ").lower()
        if said in ("y", "yes"):
            return {"approved": True}
        if said in ("n", "no"):
            return {"approved": False, **_reason(screen)}
        if said in ("c", "cancel"):
            raise _Cancel
        if said in ("e", "edit") and editable:
            edited = _object(screen)
            if edited is not None:
                return {"approved": True, "editedArgs": edited}
        if said in ("r", "respond") and takes_text:
            text = _line(screen, "the result, in place of the tool's (Enter: back) > ")
            if text:
                return {"approved": False, "respond": text}


def _will_answer(screen: Screen) -> bool:
    while True:
        said = _line(screen, "[a]nswer, [d]ecline, [c]ancel > ").lower()
        if said in ("c", "cancel"):
            raise _Cancel
        if said in ("a", "answer", "d", "decline"):
            return said.startswith("a")


def _reason(screen: Screen) -> dict[str, Any]:
    reason = _line(screen, "why not (Enter: no reason) > ")
    return {"reason": reason} if reason else {}


def _object(screen: Screen) -> dict[str, Any] | None:
    said = _line(screen, "new arguments, a JSON object (Enter: back) > ")
    if not said:
        return None
    try:
        value = json.loads(said)
    except ValueError as error:
        screen.fail(f"that is no JSON: {error}")
        return None
    if not isinstance(value, dict):
        screen.fail("the arguments are a JSON object.")
        return None
    return value


def _field(screen: Screen, field: FormField) -> str | bool:
    label = plain(field.label or field.name)
    if field.type == "confirm":
        while (said := _line(screen, f"{label} [y]es, [n]o > ").lower()) not in _YES:
            screen.note(f"y or n, or {CANCEL}.")
        return _YES[said]
    if not field.options:
        optional = "" if field.required else " (Enter: nothing)"
        return _line(screen, f"{label}{optional} > ")
    for number, option in enumerate(field.options, start=1):
        screen.say(f"  {number}  {option}")
    while True:
        said = _line(screen, f"{label}, a number > ")
        if said in field.options:
            return said
        if said.isdecimal() and 0 < int(said) <= len(field.options):
            return field.options[int(said) - 1]
        if not said and not field.required:
            return ""
        screen.note(f"a number from 1 to {len(field.options)}, or {CANCEL}.")


def _anything(screen: Screen, prompt: str) -> Any:
    said = _line(screen, prompt)
    try:
        return json.loads(said)
    except ValueError:
        return said


def _line(screen: Screen, prompt: str) -> str:
    said = screen.read(prompt).strip()
    if said == CANCEL:
        raise _Cancel
    if said == QUIT:
        raise EOFError
    return said
