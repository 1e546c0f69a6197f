"""A page on the thread: it keeps its own list, as AG-UI's client does, and loses what is lost."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

from agui_bridge.client.conversation import Conversation
from agui_bridge.protocol.threads.client_messages import is_turn
from agui_bridge.protocol.wire.sse import Decoder
from tests.model.conversations.ledger import Sent, words_of
from tests.support.agents import Reader

__all__ = ["Kind", "Page", "as_shown"]

Event = dict[str, Any]
Message = dict[str, Any]

Kind = Literal["sign", "plain", "unkept", "one run id", "parent"]
"""Whether a page gives the sign; it may keep no ids of what is said, have one run id for
everything, or name the run before, which says nothing."""


class Page:
    """One page.

    Args:
        name: its own.
        kind: how it behaves.
        actor: who sits before it.

    Attributes:
        shown: the conversation as it shows it.
        busy: the request whose response it reads.
        unanswered: the request whose response was cut off, until it is sent again or given up.
        was_told: whether it was ever told the thread as a whole.
    """

    def __init__(self, name: str, kind: Kind, actor: str) -> None:
        self.name = name
        self.kind = kind
        self.actor = actor
        self.shown = Conversation()
        self.busy: Sent | None = None
        self.unanswered: Sent | None = None
        self.was_told = False
        self._runs = itertools.count(1)
        self._last_run: str | None = None

    @property
    def messages(self) -> list[Message]:
        """What it shows."""
        return self.shown.messages

    @property
    def said(self) -> list[Message]:
        """What people said there."""
        return [m for m in self.messages if m["role"] == "user"]

    @property
    def newest(self) -> str | None:
        """The newest turn."""
        return next((m["id"] for m in reversed(self.messages) if is_turn(m)), None)

    @property
    def handed(self) -> list[str]:
        """The calls that it was to carry out and has not answered."""
        answered = {m["toolCallId"] for m in self.messages if m["role"] == "tool"}
        calls = [c for m in self.messages for c in m.get("toolCalls") or ()]
        return [
            c["id"] for c in calls if c["function"]["name"] == "page" and c["id"] not in answered
        ]

    def request(
        self,
        *,
        knew: Sequence[Message],
        says: str | None = None,
        newest: str | None = None,
        resume: Sequence[Mapping[str, Any]] = (),
    ) -> Sent:
        """Make a request of what it shows now.

        Args:
            knew: what it showed before it went back, or said something.
            says: the words that are new.
            newest: the newest turn that it showed, where it goes back.
            resume: answers.
        """
        messages = [dict(message) for message in self.messages]
        run = "always" if self.kind == "one run id" else f"{self.name}-{next(self._runs)}"
        if self.kind == "unkept":
            messages = [
                {**m, "id": f"{run}-{n}"} if m["role"] == "user" else m
                for n, m in enumerate(messages)
            ]
        body: dict[str, Any] = {"runId": run, "messages": messages}
        if resume:
            body["resume"] = list(resume)
        if self.kind == "parent" and self._last_run is not None:
            body["parentRunId"] = self._last_run
        signs = self.kind == "sign" and newest is not None
        if signs:
            body["forwardedProps"] = {"agui_bridge": {"newest": newest}}
        self._last_run = run
        ids = {message["id"] for message in knew}
        keeps = self.kind != "unkept"
        given = newest if signs else None
        return Sent(body, self.actor, ids, given, says, keeps, was_told=self.was_told)

    def show(self, messages: Sequence[Message]) -> None:
        """Show something else."""
        self.shown.restore(messages, None, self.shown.pending_interrupts)

    def take(self, event: Event) -> None:
        """Fold an event in."""
        if event["type"] == "MESSAGES_SNAPSHOT":
            self.was_told = True
            if self.kind == "unkept":
                # Others leave what they have in its place, and add the rest behind it.
                self.shown.apply({**event, "messages": []})
        self.shown.apply(event)


async def read(
    page: Page | None, sent: Sent, reader: Reader, cut: int | None
) -> list[Event] | None:
    """Read a response, for a page or for nobody.

    Returns:
        Its events; None when it was cut off, or the page had gone on.
    """
    decoder, events = Decoder(), list[Event]()
    if page is not None:
        page.shown.begin_stream()
    while chunk := await reader.pipe.read():
        for frame in decoder.feed(chunk):
            event = json.loads(frame.data)
            if page is not None:
                if page.busy is not sent:
                    reader.leave()
                    return None
                if cut == len(events):
                    reader.leave()
                    page.busy, page.unanswered = None, sent
                    return None
                page.take(event)
            events.append(event)
    if page is not None:
        if page.busy is not sent:
            return None
        page.busy = None
    return events


def as_shown(messages: Sequence[Mapping[str, Any]], *, loosely: bool = False) -> list[Any]:
    """What can be seen of a conversation; results that follow one another in any order.

    Args:
        messages: the conversation.
        loosely: whether results may stand anywhere.
    """
    rows: list[Any] = []
    if loosely:
        messages = sorted(messages, key=lambda m: m["role"] == "tool")
    for are_results, together in groupby(messages, lambda m: m["role"] == "tool"):
        some = [
            (
                message["id"],
                words_of(message),
                [call["id"] for call in message.get("toolCalls") or ()],
            )
            for message in together
        ]
        rows += sorted(some, key=itemgetter(0)) if are_results else some
    return rows


async def quiet(passes: int = 40) -> None:
    """Let everything that is ready go on."""
    for _ in range(passes):
        await asyncio.sleep(0)
