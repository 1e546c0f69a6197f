"""Who carries out what people do in Slack: through the same answer as everybody else's."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from agui_bridge.channels.channel import Undelivered
from agui_bridge.channels.notice import cut
from agui_bridge.channels.scopes import ToldScopes
from agui_bridge.channels.slack.answers import Click, Form, payload_of_click, payload_of_form
from agui_bridge.channels.slack.blocks import (
    ANSWER,
    FIELD,
    OPEN,
    REASON,
    may_approve,
    view,
)
from agui_bridge.channels.slack.slack import Slack, SlackUser
from agui_bridge.engine.engine import Engine
from agui_bridge.engine.input.agent import Agent
from agui_bridge.errors import Refused, StoreUnavailable
from agui_bridge.hooks import HookThreads
from agui_bridge.inbox.access import find_question
from agui_bridge.inbox.answering import answer_question
from agui_bridge.inbox.reference import Reference, References
from agui_bridge.protocol.answers.decisions import APPROVE, find_fault
from agui_bridge.protocol.threads.records import Json, Principal, RecordedAnswer

__all__ = ["SlackDesk"]

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
