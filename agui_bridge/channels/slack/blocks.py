"""Notices and forms as Slack's blocks, within Slack's limits whatever the agent says.

What an agent says stands in `plain_text`, where nothing is a mention, a link or markup.
Source: https://docs.slack.dev/reference/block-kit/blocks
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agui_bridge.channels.notice import Notice, cut, message_of, shown_call
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE
from agui_bridge.protocol.answers.forms import FormField, fields_from_schema
from agui_bridge.protocol.answers.question_schemas import has_decline
from agui_bridge.protocol.threads.records import Interrupt, Json
from agui_bridge.text.visible import visible, visible_word

__all__ = [
    "ANSWER",
    "FIELD",
    "OPEN",
    "REASON",
    "answer_schema",
    "fallback",
    "form_of",
    "may_approve",
    "notice_blocks",
    "view",
]

REASON: Final = "decline_with_reason"
ANSWER: Final = "answer"
OPEN: Final = "open"
"""Buttons besides `approve` and `decline`."""

FIELD: Final = "field"
"""`action_id` of every field of a form."""

_HEADER: Final = 150
_TEXT: Final = 3000
_FACT: Final = 300
_BUTTON_VALUE: Final = 2000
_URL: Final = 3000
_LABEL: Final = 2000
_OPTION: Final = 75
_MOST_OPTIONS: Final = 100
_MOST_FIELDS: Final = 20
_METADATA: Final = 3000
_TITLE: Final = 24

Block = dict[str, Any]


def fallback(notice: Notice) -> str:
    """The text of a notification, in which Slack knows markup.

    Args:
        notice: what to tell.
    """
    text = cut(notice.title, _HEADER)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def notice_blocks(notice: Notice, *, show_args: bool = False) -> list[Block]:
    """A notice as blocks; one that tells of an end has no buttons.

    Args:
        notice: what to tell.
        show_args: whether a tool call's arguments are shown.
    """
    blocks: list[Block] = [{"type": "header", "text": _plain(notice.title, _HEADER)}]
    if message := notice.message(show_args=show_args):
        blocks.append(_section(message))
    if show_args and notice.args is not None:
        blocks.append(_section(notice.args))
    facts = "\n".join(f"{label}: {cut(value, _FACT)}" for label, value in notice.facts)
    blocks.append(_section(facts))
    if not notice.ended and (buttons := _buttons(notice, show_args=show_args)):
        blocks.append({"type": "actions", "block_id": "decide", "elements": buttons})
    return blocks


def may_approve(ask: Interrupt, *, show_args: bool) -> bool:
    """Whether a message has a button that approves: only beside all that would run.

    Args:
        ask: the question.
        show_args: whether a tool call's arguments are shown.
    """
    shown = shown_call(ask, title=_HEADER, text=_TEXT, name=_FACT)
    return show_args and shown is not None and shown.is_whole and APPROVE in ask.allowed


def answer_schema(ask: Interrupt) -> Mapping[str, Json]:
    """The schema of a question's answer, without the decline that may stand beside it.

    Args:
        ask: the question.
    """
    schema = ask.response_schema or {}
    return {**schema, "anyOf": schema["anyOf"][:1]} if has_decline(schema) else schema


def form_of(ask: Interrupt) -> tuple[FormField, ...]:
    """The fields in which a question can be answered in Slack; none where it can't.

    Nothing says that all which an answer lets run is in its message: that is answered in the inbox.

    Args:
        ask: the question.
    """
    if ask.lets_run:
        return ()
    fields = fields_from_schema(answer_schema(ask))
    fits = len(fields) <= _MOST_FIELDS and all(len(f.options) <= _MOST_OPTIONS for f in fields)
    return fields if fits else ()


def view(ask: Interrupt, kind: str, metadata: str, *, show_args: bool = False) -> Block | None:
    """A form, for `views.open`; None where there is none that fits.

    Args:
        ask: the question.
        kind: `REASON` or `ANSWER`.
        metadata: comes back with the form.
        show_args: whether arguments are shown.
    """
    if len(metadata) > _METADATA:
        return None
    if kind == REASON:
        blocks = [_input(0, FormField("reason", label="Reason"), multiline=True)]
    else:
        blocks = [_input(number, field) for number, field in enumerate(form_of(ask))]
        if not blocks:
            return None
        if message := message_of(ask, show_args=show_args):
            blocks.insert(0, _section(message))
    return {
        "type": "modal",
        "callback_id": kind,
        "private_metadata": metadata,
        "title": _plain("Decline" if kind == REASON else "Answer", _TITLE),
        "submit": _plain("Decline" if kind == REASON else "Send", _TITLE),
        "close": _plain("Back", _TITLE),
        "blocks": blocks,
    }


def _buttons(notice: Notice, *, show_args: bool) -> list[Block]:
    ask, value = notice.ask, notice.links.reference
    found: list[Block] = []
    if len(value) <= _BUTTON_VALUE:
        if ask.tool_call is not None:
            if may_approve(ask, show_args=show_args):
                found.append(_button("Approve", APPROVE, value, style="primary"))
        elif form_of(ask):
            found.append(_button("Answer", ANSWER, value, style="primary"))
        if DECLINE in ask.allowed:
            found.append(_button("Decline", DECLINE, value, style="danger"))
            found.append(_button("Decline with a reason", REASON, value))
    page = notice.links.page
    if page is not None and len(page) <= _URL:
        found.append({**_button("Open", OPEN, None), "url": page})
    return found


def _button(text: str, action: str, value: str | None, *, style: str | None = None) -> Block:
    button: Block = {"type": "button", "text": _plain(text, _OPTION), "action_id": action}
    if value is not None:
        button["value"] = value
    return button if style is None else {**button, "style": style}


def _input(number: int, field: FormField, *, multiline: bool = False) -> Block:
    element: Block
    if field.type == "text":
        element = {"type": "plain_text_input", "multiline": multiline, "max_length": _TEXT}
    else:
        names = ("Yes", "No") if field.type == "confirm" else field.options
        # A value is a number: an option's own text may be longer than Slack takes.
        names = tuple(map(visible_word, names))
        options = [
            {"text": _plain(name, _OPTION), "value": str(at)} for at, name in enumerate(names)
        ]
        kind = "radio_buttons" if field.type == "confirm" else "static_select"
        element = {"type": kind, "options": options}
    return {
        "type": "input",
        "block_id": f"{FIELD}-{number}",
        "optional": not field.required,
        "label": _plain(visible(field.label or field.name or "Answer"), _LABEL),
        "element": {**element, "action_id": FIELD},
    }


def _section(text: str) -> Block:
    return {"type": "section", "text": _plain(text, _TEXT)}


def _plain(text: str, most: int) -> Block:
    """A visible text in which nothing is markup, not even `:tada:`; Slack wants one character."""
    shown = cut(text, most)
    return {"type": "plain_text", "text": shown if shown.strip() else "-", "emoji": False}
