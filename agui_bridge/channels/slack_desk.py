"""What people do in Slack: read from its signed requests, and carried out as anybody's answer."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs

from agui_bridge.channels.channel import ToldScopes, Undelivered
from agui_bridge.channels.notice import cut
from agui_bridge.channels.slack import (
    ANSWER,
    FIELD,
    OPEN,
    REASON,
    Slack,
    SlackUser,
    answer_schema,
    form_of,
    may_approve,
    view,
)
from agui_bridge.engine.engine import Engine
from agui_bridge.engine.input.submission import Agent
from agui_bridge.errors import Refused, StoreUnavailable
from agui_bridge.hooks import HookThreads
from agui_bridge.inbox.answering import answer_question
from agui_bridge.inbox.reference import Reference, References, find_question
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE, DECLINED, find_fault
from agui_bridge.protocol.answers.forms import payload_from_input
from agui_bridge.protocol.threads.records import Interrupt, Json, Principal, RecordedAnswer

logger: Final = logging.getLogger("agui_bridge")

_WAIT: Final = 0.5
"""Seconds to wait for the end of a run that an answer sets off: its message changes anyway."""

_LONGEST_ERROR: Final = 150
_LONGEST_TEXT: Final = 3000
_THREADS: Final = HookThreads("people")
_STRANGER: Final = "You are not known here, so nothing was done: ask whoever runs this bridge."
_NO_STORE: Final = "Nothing was done: the store did not answer. Try again."
_NO_FORM: Final = "There is no form for this here: answer it in the inbox."
_NOT_SHOWN: Final = "The message does not show all that would run: open the question in the inbox."
_VOTED: Final = "Your approval is noted. Others must approve it, too."


class SlackDesk:
    """Takes clicks and forms of one channel.

    Args:
        channel: the channel.
        engine: carries answers out.
        agents: by name.
        references: reads what buttons carry.
        scopes: whose questions are answered there.
    """

    def __init__(
        self,
        channel: Slack,
        engine: Engine,
        agents: Mapping[str, Agent],
        references: References,
        scopes: ToldScopes,
    ) -> None:
        self._channel = channel
        self._engine = engine
        self._agents = agents
        self._references = references
        self._scopes = scopes

    async def click(self, click: Click) -> None:
        """Do what a button says, and tell its presser if it was refused.

        Args:
            click: as Slack told it.
        """
        if click.action == OPEN:
            return
        try:
            refusal = await self._clicked(click)
        except Refused as error:
            refusal = error.message
        except StoreUnavailable:
            refusal = _NO_STORE
        except Undelivered as error:
            logger.warning("a form could not be shown in Slack (%s)", error)
            return
        if refusal is not None:
            await self._tell(click.user, refusal, click.channel)

    async def submit(self, form: Form) -> dict[str, Any] | None:
        """Check a form, and answer with it beside.

        Args:
            form: as Slack told it.

        Returns:
            What Slack is to say of its faults; None where it is accepted.
        """
        try:
            principal = await self._who(form.user)
            if principal is None:
                return _errors(_STRANGER)
            reference = self._read(form.reference)
            row = await find_question(self._engine, reference, principal)
            payload = payload_of_form(row.interrupt, form)
            fault = find_fault(row.interrupt, payload)
            if fault is not None:
                return _errors(fault)
        except Refused as error:
            return _errors(error.message)
        except StoreUnavailable:
            return _errors(_NO_STORE)
        self._engine.spawn(self._answer_and_tell(reference, payload, principal, form.user))
        return None

    async def _clicked(self, click: Click) -> str | None:
        principal = await self._who(click.user)
        if principal is None:
            return _STRANGER
        reference = self._read(click.reference)
        row = await find_question(self._engine, reference, principal)
        if click.action in (REASON, ANSWER):
            shown = view(
                row.interrupt,
                click.action,
                click.reference,
                show_args=self._channel.show_args,
            )
            if shown is None:
                return _NO_FORM
            await self._channel.call("views.open", trigger_id=click.trigger, view=shown)
            return None
        ask, shows = row.interrupt, self._channel.show_args
        if click.action == APPROVE and ask.is_open and not may_approve(ask, show_args=shows):
            # A message from before the channel was set up so, or from an earlier version.
            return _NOT_SHOWN
        payload = payload_of_click(row.interrupt, click.action)
        return await self._answer(reference, payload, principal)

    async def _answer_and_tell(
        self, reference: Reference, payload: Json, principal: Principal, user: SlackUser
    ) -> None:
        try:
            refusal = await self._answer(reference, payload, principal)
        except Refused as error:
            refusal = error.message
        except StoreUnavailable:
            refusal = _NO_STORE
        if refusal is not None:
            await self._tell(user, refusal)

    async def _answer(
        self, reference: Reference, payload: Json, principal: Principal
    ) -> str | None:
        """Answer a question; what there is to tell the person alone."""
        outcome = await answer_question(
            self._engine,
            self._agents,
            reference,
            RecordedAnswer("resolved", payload),
            principal,
            via="slack",
            wait=_WAIT,
        )
        # The message changes as everybody's does, when the end of the question is told.
        self._engine.changed(reference.key)
        if outcome.refused:
            return outcome.message
        return _VOTED if outcome.row.interrupt.is_open else None

    def _read(self, text: str) -> Reference:
        """What a button carries; a message may be older than the scopes of its channel."""
        reference = self._references.read(text)
        if reference.key.scope not in self._scopes:
            raise Refused("INTERRUPT_NOT_FOUND", "There is no such question here.")
        return reference

    async def _who(self, user: SlackUser) -> Principal | None:
        found: Principal | None = await _THREADS.call(self._channel.people, user)
        return found

    async def _tell(self, user: SlackUser, text: str, channel: str = "") -> None:
        try:
            await self._channel.tell(user.id, cut(text, _LONGEST_TEXT), channel or None)
        except Undelivered as error:
            logger.warning("a Slack user could not be told why nothing was done (%s)", error)


def _errors(text: str) -> dict[str, Any]:
    shown = cut(text, _LONGEST_ERROR)
    return {"response_action": "errors", "errors": {f"{FIELD}-0": shown}}


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
