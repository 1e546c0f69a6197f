"""What the buttons of a question's page decide.

A form without a button's name decides nothing: that is how programs send forms that look for
links in mails, and no decision is the one that such a form means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from agui_bridge.errors import Refused
from agui_bridge.http.inbox.forms.fields import FieldSet, answer_fields, argument_fields
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE, EDIT, RESPOND, find_fault
from agui_bridge.protocol.answers.question_schemas import DECLINED
from agui_bridge.protocol.approvals.voting import edited_so_far, vote_to_agree_with
from agui_bridge.protocol.grants.remembering import MEMBER
from agui_bridge.protocol.threads.records import Interrupt, Json, RecordedAnswer

__all__ = ["AGREE", "CANCEL", "UNDECIDED", "Decided", "Offered", "offered_by", "read_decision"]

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
    faults: Mapping[str, str] = field(default_factory=dict)


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
