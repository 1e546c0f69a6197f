"""What people do in Slack, read from its signed requests and made into answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs

from agui_bridge.channels.slack.blocks import ANSWER, FIELD, OPEN, REASON, answer_schema, form_of
from agui_bridge.channels.slack.slack import SlackUser
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE
from agui_bridge.protocol.answers.forms import payload_from_input
from agui_bridge.protocol.answers.question_schemas import DECLINED
from agui_bridge.protocol.threads.records import Interrupt, Json

__all__ = ["Click", "Form", "payload_of_click", "payload_of_form", "read_interaction"]

_BUTTONS: Final = frozenset({APPROVE, DECLINE, REASON, ANSWER, OPEN})


@dataclass(frozen=True, slots=True)
class Click:
    """A button was pressed.

    Attributes:
        user: by whom.
        action: the button's `action_id`.
        reference: the question's.
        trigger: lets a form be opened, for three seconds.
        channel: id of the channel of the message; empty where Slack says none.
    """

    user: SlackUser
    action: str
    reference: str
    trigger: str
    channel: str


@dataclass(frozen=True, slots=True)
class Form:
    """A form was sent.

    Attributes:
        user: by whom.
        kind: `REASON` or `ANSWER`.
        reference: the question's.
        values: by number of the field, texts and numbers of options.
    """

    user: SlackUser
    kind: str
    reference: str
    values: Mapping[int, str] = field(default_factory=dict)


def read_interaction(body: bytes) -> Click | Form | None:
    """Read the body of a request that Slack has signed; None for what is none of ours.

    Args:
        body: form-encoded, with JSON in `payload`.
    """
    try:
        payload = json.loads(parse_qs(body.decode())["payload"][0])
        user = payload["user"]
        team = (payload.get("team") or {}).get("id") or user.get("team_id") or ""
        who = SlackUser(user["id"], team, user.get("username") or user.get("name") or "")
        if payload["type"] == "view_submission":
            shown = payload["view"]
            kind = shown["callback_id"]
            values = dict(_values(shown["state"]["values"]))
            return Form(who, kind, shown["private_metadata"], values) if kind in _BUTTONS else None
        if payload["type"] != "block_actions":
            return None
        action = payload["actions"][0]
        if action["action_id"] not in _BUTTONS:
            return None
        channel = (payload.get("channel") or {}).get("id") or ""
        return Click(
            who, action["action_id"], action.get("value") or "", payload["trigger_id"], channel
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return None


def payload_of_click(ask: Interrupt, action: str) -> Json:
    """What a button answers.

    Args:
        ask: the question.
        action: `approve` or `decline`.
    """
    if ask.tool_call is None:
        return {DECLINED: True}
    return {"approved": action == APPROVE}


def payload_of_form(ask: Interrupt, form: Form) -> Json:
    """What a form answers.

    Args:
        ask: the question.
        form: as it was sent.
    """
    if form.kind == REASON:
        said = form.values.get(0, "").strip()
        reason = {"reason": said} if said else {}
        return {**({"approved": False} if ask.tool_call else {DECLINED: True}), **reason}
    values: dict[str, Json] = {}
    for number, one in enumerate(form_of(ask)):
        text = form.values.get(number)
        if text is None:
            continue
        if one.type == "confirm":
            values[one.name] = text == "0"
        elif one.type == "select":
            chosen = int(text) if text.isdecimal() and len(text) < 4 else -1
            values[one.name] = one.options[chosen] if 0 <= chosen < len(one.options) else text
        else:
            values[one.name] = text
    return payload_from_input(answer_schema(ask), values)


def _values(state: Mapping[str, Any]) -> Any:
    """The filled-in fields, by their number."""
    for block, elements in state.items():
        name, _, number = block.rpartition("-")
        element = elements.get(FIELD)
        if name != FIELD or not number.isdecimal() or element is None:
            continue
        option = element.get("selected_option")
        text = option["value"] if option else element.get("value")
        if isinstance(text, str):
            yield int(number), text
