"""The forms of questions: their fields, and what a pressed button decides.

`protocol.answers.forms` says which fields a schema has. What a field of its can't say, numbers and
JSON among it, is typed as text here, read strictly, and told back with its fault. A form
without a button's name decides nothing: so programs send forms that look for links in mails.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from agui_bridge.errors import Refused
from agui_bridge.http.chat.frames import with_labels
from agui_bridge.protocol.answers.decisions import (
    APPROVE,
    DECLINE,
    DECLINED,
    EDIT,
    RESPOND,
    find_fault,
    has_decline,
)
from agui_bridge.protocol.answers.forms import (
    WHOLE_VALUE,
    FormField,
    fields_from_schema,
    payload_from_input,
    resolve_schema,
)
from agui_bridge.protocol.approvals import edited_so_far, vote_to_agree_with
from agui_bridge.protocol.grants import MEMBER
from agui_bridge.protocol.threads.records import Interrupt, Json, RecordedAnswer
from agui_bridge.surfaces.reading import parse_json
from agui_bridge.text.visible import visible, visible_json, visible_value

Kind = Literal["line", "text", "number", "date", "email", "json", "choice", "yes_no"]

_LONG_LINE: Final = 80
_DEEPEST: Final = 64
_SAYS_NOTHING: Final = frozenset({"not", "title", "description", "default", "examples", "$schema"})
"""Keywords beside which any value may still be answered."""

_WANTED: Final[Mapping[Kind, str]] = {
    "yes_no": "Choose yes or no.",
    "choice": "Choose one.",
    "number": "Enter a number.",
    "date": "Enter a date.",
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field as a page shows it.

    Attributes:
        name: under which the browser sends it.
        key: under which the answer has it.
        label: what people read.
        kind: how it is filled in.
        required: whether it must be.
        value: what stands in it.
        options: what a choice offers.
        hint: what may be written, where the kind does not say.
        fault: what was wrong with what was sent.
    """

    name: str
    key: str
    label: str
    kind: Kind
    required: bool
    value: str = ""
    options: tuple[str, ...] = ()
    hint: str = ""
    fault: str = ""

    @property
    def id(self) -> str:
        """Its id on the page, of which there is one with this name."""
        plain = (c if c.isascii() and c.isalnum() else f"_{ord(c):x}" for c in self.name)
        return f"f-{''.join(plain)}"


@dataclass(frozen=True, slots=True)
class FieldSet:
    """The fields of one form, and how its answer is made of them.

    Attributes:
        group: what their names begin with.
        schema: what the answer must satisfy; its fields are those of the form.
        fields: with labels.
        before: values that stand there until somebody changes them, by key.
        whole: whether the one field is the whole answer.
    """

    group: str
    schema: Mapping[str, Json]
    fields: tuple[FormField, ...]
    before: Mapping[str, Json]
    whole: bool = False

    def shown(
        self, sent: Mapping[str, list[str]] | None = None, faults: Mapping[str, str] | None = None
    ) -> tuple[Field, ...]:
        """The fields, with what was sent before, or what they begin with.

        Args:
            sent: a form that is shown again.
            faults: what was wrong with it, by key.
        """
        return tuple(self._shown(field, sent, faults or {}) for field in self.fields)

    def read(self, sent: Mapping[str, list[str]]) -> tuple[Json, dict[str, str]]:
        """What a form answers.

        Args:
            sent: what the browser sent.

        Returns:
            The answer, and what is wrong with it by key: of fields that can't be read.
        """
        values: dict[str, Json] = {}
        faults: dict[str, str] = {}
        for field in self.fields:
            text = (sent.get(self._name(field)) or [""])[0]
            try:
                found = self._read(field, text)
            except ValueError as error:
                faults[field.name] = str(error)
            else:
                if found is not _ABSENT:
                    values[field.name] = found
        return (values.get(WHOLE_VALUE) if self.whole else values), faults

    def _name(self, field: FormField) -> str:
        return f"{self.group}:{field.name}"

    def _shown(
        self, field: FormField, sent: Mapping[str, list[str]] | None, faults: Mapping[str, str]
    ) -> Field:
        kind, name = self._kind(field), self._name(field)
        value = self._written(field, kind) if sent is None else (sent.get(name) or [""])[0]
        return Field(
            name,
            field.name,
            field.label,
            kind,
            field.required,
            value,
            field.options,
            self._hint(field, kind),
            faults.get(field.name, ""),
        )

    def _inner(self, field: FormField) -> Mapping[str, Json]:
        whole = resolve_schema(self.schema, self.schema)
        if self.whole:
            return whole
        return resolve_schema(self.schema, (whole.get("properties") or {}).get(field.name))

    def _said(self, field: FormField, keyword: str, otherwise: Any) -> Any:
        """What a property says beside its pointer, or else what stands where that leads."""
        own: Any = self.schema
        if not self.whole:
            whole = resolve_schema(self.schema, self.schema)
            own = (whole.get("properties") or {}).get(field.name)
        if isinstance(own, Mapping) and keyword in own:
            return own[keyword]
        return self._inner(field).get(keyword, otherwise)

    def _kind(self, field: FormField) -> Kind:
        if field.type != "text":
            return "yes_no" if field.type == "confirm" else "choice"
        inner = self._inner(field)
        match inner.get("type"):
            case "string":
                return self._text_kind(field, inner)
            case "number" | "integer":
                return "number"
            case None if self.whole and not inner.keys() - _SAYS_NOTHING:
                return "text"
        return "json"

    def _text_kind(self, field: FormField, inner: Mapping[str, Json]) -> Kind:
        if inner.get("format") in ("date", "email"):
            return "date" if inner["format"] == "date" else "email"
        longest, value = inner.get("maxLength"), str(self._begins(field, ""))
        if visible(value) != value.replace("\r\n", "\n"):
            # What is not seen is an escape of JSON, and stays what it is.
            return "json"
        long = isinstance(longest, int) and longest > _LONG_LINE
        return "text" if self.whole or long or "\n" in value or len(value) > _LONG_LINE else "line"

    def _hint(self, field: FormField, kind: Kind) -> str:
        inner = self._inner(field)
        told = self._said(field, "description", None)
        words = [told.strip()] if isinstance(told, str) and told.strip() else []
        if kind == "json":
            words.append("Written as JSON; a text stands in quotation marks.")
        if kind == "number":
            low, high = inner.get("minimum"), inner.get("maximum")
            if low is not None and high is not None:
                words.append(f"From {low} to {high}.")
            elif low is not None or high is not None:
                words.append(f"At least {low}." if high is None else f"At most {high}.")
        return " ".join(words)

    def _written(self, field: FormField, kind: Kind) -> str:
        """What stands in a field at first."""
        value = self._begins(field, _ABSENT)
        if value is _ABSENT or (value is None and kind != "json"):
            return ""
        if kind == "json":
            return visible_json(value, 2)
        return value if isinstance(value, str) else visible_value(value)

    def _begins(self, field: FormField, otherwise: Any) -> Any:
        """The value with which a field begins, if it has one."""
        value = self.before.get(field.name, _ABSENT)
        return self._said(field, "default", otherwise) if value is _ABSENT else value

    def _read(self, field: FormField, text: str) -> Json:
        kind = self._kind(field)
        if field.name in self.before and text == self._written(field, kind):
            # As it was, to the type: nobody has touched it.
            return self.before[field.name]
        if kind in ("number", "json", "yes_no", "choice"):
            text = text.strip()
        if not text:
            return self._empty(field, kind)
        if kind == "yes_no":
            return {"true": True, "false": False}.get(text, text)
        if kind == "choice":
            key = field.name
            read: Any = payload_from_input(self.schema, {key: text})
            return read if self.whole else read[key]
        if kind == "number":
            return _number(text)
        return _json(text) if kind == "json" else text

    def _empty(self, field: FormField, kind: Kind) -> Json:
        if field.name in self.before and kind in ("line", "text"):
            return "" if field.required else _ABSENT
        if field.required:
            raise ValueError(_WANTED.get(kind, "Fill this in."))
        return _ABSENT


_ABSENT: Final = object()


def answer_fields(ask: Interrupt) -> FieldSet:
    """The fields of a question that is no tool approval."""
    schema = ask.response_schema or {}
    if has_decline(schema):
        # The decline has a button of its own.
        schema = {**schema, "anyOf": schema["anyOf"][:1]}
    return _fields("answer", schema, {}, ask)


def argument_fields(ask: Interrupt) -> FieldSet:
    """The fields of a tool call's arguments, to change them before it runs.

    They begin with what others have approved already, so that one may agree with them.
    """
    assert ask.tool_call is not None, "only a tool call has arguments"
    agreed = edited_so_far(ask)
    properties = (ask.response_schema or {}).get("properties") or {}
    # Pointers within the tool's schema lead through the whole document.
    schema = {**(ask.response_schema or {}), "$ref": "#/properties/editedArgs"}
    if "editedArgs" not in properties:
        schema = {"type": "object"}
    return _fields("edit", schema, ask.tool_call.args if agreed is None else agreed, ask)


def _fields(
    group: str, schema: Mapping[str, Json], before: Mapping[str, Json], ask: Interrupt
) -> FieldSet:
    found = fields_from_schema(schema)
    known = {field.name for field in found}
    if not found:
        label = "Arguments" if group == "edit" else "Answer"
        only = FormField(WHOLE_VALUE, label=label, required=True)
        start = {WHOLE_VALUE: dict(before)} if group == "edit" else {WHOLE_VALUE: {}}
        return FieldSet(group, schema, (only,), start, whole=True)
    properties = resolve_schema(schema, schema).get("properties")
    whole = not (isinstance(properties, Mapping) and properties)
    extra = tuple(FormField(name) for name in before if name not in known)
    fields = with_labels((*found, *extra), _unlabelled(ask) if group == "edit" else ask)
    return FieldSet(group, schema, fields, {} if whole else before, whole)


def _unlabelled(ask: Interrupt) -> Interrupt:
    """The question without its tool call, whose labels are those of its own fields."""
    return replace(ask, tool_call=None)


def _number(text: str) -> Json:
    try:
        read = _json(text)
    except ValueError:
        read = None
    if not isinstance(read, int | float) or isinstance(read, bool):
        raise ValueError("Enter a number, such as 42 or 0.5.")
    return read


def _json(text: str) -> Json:
    try:
        return parse_json(text.encode(), _DEEPEST)
    except UnicodeEncodeError:
        raise ValueError("This has a character that is none.") from None
    except Refused as error:
        raise ValueError(f"This can't be read as JSON: {error.message}") from None


UNDECIDED: Final = 400
"""The status of the answer to a form that decides nothing."""

AGREE, ANSWER, CANCEL, YES, NO = "agree", "answer", "cancel", "yes", "no"
"""Decisions besides those of a tool approval: buttons' names."""

_CANCELLED: Final = RecordedAnswer("cancelled")


@dataclass(frozen=True, slots=True)
class Offered:
    """What a question's page has buttons for.

    Attributes:
        decisions: the buttons' names.
        arguments: the fields to change a tool call's arguments in, if they may be.
        answer: the fields of the answer to a question that is no approval.
        yes_or_no: the key of the answer's only field, if it is answered by yes or no.
    """

    decisions: tuple[str, ...]
    arguments: FieldSet | None = None
    answer: FieldSet | None = None
    yes_or_no: str | None = None


@dataclass(frozen=True, slots=True)
class Decided:
    """What somebody decided, or what is wrong with it.

    Attributes:
        answer: to be recorded.
        faults: what is wrong, by the key of its field; "" is the whole form's.
    """

    answer: RecordedAnswer
    faults: Mapping[str, str] = dataclasses.field(default_factory=dict)


def offered_by(ask: Interrupt) -> Offered:
    """What may be decided on a question.

    Args:
        ask: the question.
    """
    if ask.tool_call is not None:
        names = tuple(name for name in (APPROVE, EDIT, DECLINE, RESPOND) if name in ask.allowed)
        agree = (AGREE,) if edited_so_far(ask) is not None else ()
        return Offered((*agree, *names, CANCEL), argument_fields(ask) if EDIT in names else None)
    fields = answer_fields(ask)
    decline = (DECLINE,) if DECLINE in ask.allowed else ()
    if [f.type for f in fields.fields] == ["confirm"] and not fields.whole:
        return Offered((YES, NO, *decline, CANCEL), yes_or_no=fields.fields[0].name)
    return Offered((ANSWER, *decline, CANCEL), answer=fields)


def read_decision(ask: Interrupt, sent: Mapping[str, list[str]]) -> Decided:
    """What a form decides on a question.

    Args:
        ask: the question.
        sent: what the browser sent; the button pressed is `decision`.

    Raises:
        Refused: INVALID_INPUT: no button was pressed, or none that the question has.
    """
    pressed, offered = sent.get("decision", []), offered_by(ask)
    if len(pressed) != 1 or pressed[0] not in offered.decisions:
        raise Refused(
            "INVALID_INPUT", "Nothing was decided: press one of the buttons below the question."
        )
    if pressed[0] == CANCEL:
        return Decided(_CANCELLED)
    payload, faults = _payload(ask, offered, pressed[0], sent)
    if not faults and (fault := find_fault(ask, payload)) is not None:
        faults = _placed(fault, offered)
    return Decided(RecordedAnswer("resolved", payload), faults)


def _payload(
    ask: Interrupt, offered: Offered, pressed: str, sent: Mapping[str, list[str]]
) -> tuple[Json, dict[str, str]]:
    reason = (sent.get("reason") or [""])[0].strip()
    said = {"reason": reason} if reason else {}
    if pressed == ANSWER:
        assert offered.answer is not None, "it is offered"
        return offered.answer.read(sent)
    if pressed in (YES, NO):
        assert offered.yes_or_no is not None, "it is offered"
        return {offered.yes_or_no: pressed == YES}, {}
    if pressed == AGREE:
        vote, edited = vote_to_agree_with(ask), edited_so_far(ask)
        assert vote is not None and edited is not None, "it is offered"
        if sent.get(AGREE) != [vote.args_digest]:
            return {}, {"": "The arguments were changed meanwhile. Look at them again."}
        return {"approved": True, "editedArgs": dict(edited), **said}, {}
    if pressed == EDIT:
        assert offered.arguments is not None, "it is offered"
        args, faults = offered.arguments.read(sent)
        return {"approved": True, "editedArgs": args, **said}, faults
    if pressed == RESPOND:
        text = (sent.get("respond") or [""])[0].strip()
        faults = {} if text else {"respond": "Write what stands in place of the tool's result."}
        return {"approved": False, "respond": text, **said}, faults
    if pressed == DECLINE and ask.tool_call is None:
        return {DECLINED: True, **said}, {}
    chosen = (sent.get(MEMBER) or [""])[0] if pressed == APPROVE else ""
    return {"approved": pressed == APPROVE, **said, **({MEMBER: chosen} if chosen else {})}, {}


def _placed(fault: str, offered: Offered) -> dict[str, str]:
    """A fault of the whole answer, at the field that it is about."""
    place, _, text = fault.partition(": ")
    for fields, before in ((offered.arguments, "/editedArgs"), (offered.answer, "")):
        if fields is None or not place.startswith(f"{before}/"):
            continue
        for key in _longest_first(f.name for f in fields.fields):
            if f"{place}/".startswith(f"{before}/{key}/"):
                inner = place.removeprefix(f"{before}/{key}")
                return {key: f"{inner}: {text}" if inner else text}
    return {"": fault}


def _longest_first(keys: Iterable[str]) -> list[str]:
    return sorted(keys, key=len, reverse=True)
