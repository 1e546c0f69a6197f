"""What people answer at the prompt: approvals, confirmations, forms, anything else as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import click
from ag_ui.core import Interrupt

from agui_bridge.cli.chat.screen import (
    Screen,
    Unread,
    agreed_arguments,
    drop_typed_ahead,
    has_editor,
    in_editor,
    is_approval,
    preview_of,
    proposal_of,
    read_json,
)
from agui_bridge.cli.chat.typed import CANCEL, Withdrawn, read_all, refuse, typed
from agui_bridge.client import Cancelled, Client, Resolved, is_expired
from agui_bridge.protocol.answers.decisions import (
    DECLINED,
    find_answer_fault,
    has_decline,
    rooted,
)
from agui_bridge.protocol.answers.forms import (
    WHOLE_VALUE,
    FormField,
    fields_from_schema,
    payload_from_input,
    resolve_schema,
)
from agui_bridge.protocol.schemas.checking import UnsafeSchema, check_schema
from agui_bridge.protocol.threads.record_parts import TIMER
from agui_bridge.text.shown import STALE
from agui_bridge.text.visible import visible_json, visible_line, visible_word

# --- a form at the prompt: a line for each field, which is checked before the next is asked for ---

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


# --- questions ---

Answer = Resolved | Cancelled


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
        unread = screen.question(client, interrupt, position)
        drop_typed_ahead()
        try:
            if is_expired(interrupt):
                _dismiss(screen)
            answers[interrupt.id] = Resolved(_payload(client, screen, interrupt, unread))
        except Withdrawn:
            answers[interrupt.id] = Cancelled()
    return answers


def _dismiss(screen: Screen) -> NoReturn:
    # Asked for all the same: where a cancel fails, the question comes again at once.
    while typed(screen, "The time to answer is over. Enter: cancel it > "):
        refuse(screen.note, "Nothing was sent. Press Enter alone.")
    raise Withdrawn


def _payload(client: Client, screen: Screen, interrupt: Interrupt, unread: Unread) -> Any:
    if interrupt.reason == TIMER:
        return _wake(screen)
    schema = _usable(interrupt.response_schema)
    approves = is_approval(client, interrupt) and not find_answer_fault(
        schema or {}, {"approved": True}
    )
    preview = preview_of(interrupt) if is_approval(client, interrupt) else None
    decides = approves or (preview is not None and preview.is_cut)
    if not read_all(screen, unread, may_decline=decides):
        return {"approved": False, **_reason(screen)}
    if decides:
        _, present = proposal_of(client, interrupt) or ("", None)
        agreed = agreed_arguments(interrupt)
        return _approval(
            screen, schema, present, agreed, approves=approves, previewed=preview is not None
        )
    if has_decline(schema) and not _will_answer(screen):
        return {DECLINED: True, **_reason(screen)}
    return fill_form(screen, schema or {})


def _wake(screen: Screen) -> dict[str, Any]:
    while True:
        said = typed(screen, "[w]ake it now, [c]ancel its sleep, /quit: leave it > ").lower()
        if said in ("w", "wake"):
            return {}
        if said in ("c", "cancel"):
            raise Withdrawn
        if said:
            refuse(screen.note, "Nothing was sent. Type w, c or /quit.")


def _usable(schema: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The schema, if a form can be made of it without harm."""
    if schema is None:
        return None
    try:
        check_schema(schema)
    except UnsafeSchema:
        return None
    return schema


def _approval(
    screen: Screen,
    schema: Mapping[str, Any] | None,
    present: Any,
    agreed: Mapping[str, Any] | None,
    *,
    approves: bool,
    previewed: bool,
) -> dict[str, Any]:
    # Who agrees, agrees to what was shown: without these it were a vote for what was proposed.
    approved = {"approved": True} if agreed is None else {"approved": True, "editedArgs": agreed}
    offered = (schema or {}).get("properties", {})
    editable, takes_text = "editedArgs" in offered, "respond" in offered
    more = f"{'[e]dit, ' if editable else ''}{'[r]espond, ' if takes_text else ''}"
    keys = f"{'[y]es, ' if approves else ''}[n]o, {more}[c]ancel"
    while True:
        said = typed(screen, f"{keys} > ").lower()
        if said in ("y", "yes") and approves:
            return approved
        if said in ("n", "no"):
            return {"approved": False, **_reason(screen)}
        if said in ("c", "cancel"):
            raise Withdrawn
        if said in ("e", "edit") and editable:
            if previewed:
                screen.note(STALE, "yellow")
            edited = edit_arguments(screen, present if agreed is None else agreed, schema)
            if edited is not None:
                return {"approved": True, "editedArgs": edited}
        elif said in ("r", "respond") and takes_text:
            text = typed(screen, "the result, in place of the tool's (Enter: back) > ")
            if text:
                return {"approved": False, "respond": text}
        elif said:
            refuse(screen.note, f"Nothing was sent. Type {keys}.")


def _will_answer(screen: Screen) -> bool:
    while True:
        said = typed(screen, "[a]nswer, [d]ecline, [c]ancel > ").lower()
        if said in ("c", "cancel"):
            raise Withdrawn
        if said in ("a", "answer", "d", "decline"):
            return said.startswith("a")
        if said:
            refuse(screen.note, "Nothing was sent. Type a, d or c.")


def _reason(screen: Screen) -> dict[str, Any]:
    reason = typed(screen, "why not (Enter: no reason) > ")
    return {"reason": reason} if reason else {}


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
