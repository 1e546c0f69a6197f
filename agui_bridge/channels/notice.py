"""What a channel is told, and the words that every channel says it with."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal
from urllib.parse import quote

from agui_bridge.inbox.answer_words import answer_words, channel_words
from agui_bridge.inbox.answering import decided_by
from agui_bridge.inbox.reference import Reference, scopes_of
from agui_bridge.inbox.settings import Inbox
from agui_bridge.protocol.answers.asks import without_arguments
from agui_bridge.protocol.approvals import edited_so_far
from agui_bridge.protocol.threads.records import (
    Interrupt,
    InterruptStatus,
    Json,
    Principal,
    ThreadKey,
    ToolCall,
)
from agui_bridge.text.shown import (
    ShownCall,
    as_json,
    in_room,
    shown_json,
    shown_name,
    shown_preview,
    shown_word,
)
from agui_bridge.text.visible import visible

Event = Literal["opened", "reminded", "escalated", "answered", "expired", "cancelled", "test"]

ENDS: Final[tuple[Event, ...]] = ("answered", "expired", "cancelled")
"""What is told of a question that is over."""

_TITLES: Final[Mapping[str, str]] = {
    "reminded": "Still waiting: ",
    "escalated": "Nobody has answered yet: ",
    "answered": "Answered: ",
    "expired": "Expired: ",
    "cancelled": "Cancelled: ",
    "test": "Test: ",
}


@dataclass(frozen=True, slots=True)
class Links:
    """The addresses of one question.

    Attributes:
        inbox: the bridge's settings.
        key: the question's thread.
        interrupt: its id there.
        clock: gives the time, in seconds since the epoch.
    """

    inbox: Inbox
    key: ThreadKey
    interrupt: str
    clock: Callable[[], float] = time.time

    @property
    def reference(self) -> str:
        """The question's reference, for buttons and paths."""
        return self.inbox.references.write(Reference(self.key, self.interrupt))

    @property
    def page(self) -> str | None:
        """The question's page in the inbox; None where the bridge has no address."""
        return self.inbox.url and f"{self.inbox.url.rstrip('/')}/inbox/{quote(self.reference)}"

    def personal(self, person: str | Principal) -> str | None:
        """A link that stands for a person, in the question's scope alone.

        None without an address, without a key to sign it, and for a principal who does not see the
        question's scope.

        Args:
            person: whom it is for: an actor of the question's scope, or a principal, whose roles
                it carries.
        """
        references = self.inbox.references
        if self.inbox.url is None or not references.signed:
            return None
        ends = self.clock() + self.inbox.link_ttl
        if isinstance(person, str):
            person = Principal(self.key.scope, person)
        if self.key.scope not in scopes_of(person):
            return None
        token = references.write(
            Reference(self.key, self.interrupt, person.actor, ends, person.roles)
        )
        return f"{self.inbox.url.rstrip('/')}/d/{quote(token)}"


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing to tell of one question.

    Attributes:
        id: the delivery's, the same at every try.
        event: what happened.
        at: store time (seconds) of the first try's plan.
        key: the question's thread.
        ask: the question as it is stored now.
        links: its addresses.
        earlier: what the channel noted of the question's earlier notices, oldest first.
        noted: what it noted of this one at a try that failed.
    """

    id: str
    event: Event
    at: float
    key: ThreadKey
    ask: Interrupt
    links: Links
    earlier: tuple[Mapping[str, Json], ...] = ()
    noted: Mapping[str, Json] | None = None

    @property
    def ended(self) -> bool:
        """Whether it tells that the question is over."""
        return self.event in ENDS

    @property
    def subject(self) -> str:
        """What is asked, in a few words."""
        call = self.ask.tool_call
        if call is not None:
            return asks_for(call)
        return f"A question from {shown_word(self.key.agent)}"

    @property
    def title(self) -> str:
        """What happened to what is asked, in a few words."""
        return _TITLES.get(self.event, "") + self.subject

    def message(self, *, show_args: bool) -> str:
        """What the agent says of it, as plain text; may be empty.

        Args:
            show_args: whether arguments are shown; else what looks like some is left out.
        """
        return message_of(self.ask, show_args=show_args).strip()

    @property
    def args(self) -> str | None:
        """The tool call's arguments as JSON, for people to read."""
        call = self.ask.tool_call
        return None if call is None else args_of(call)

    @property
    def preview(self) -> str:
        """What the call would do, for people to read; "" where nobody has said."""
        return shown_preview(self.ask.preview)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What else there is to know: labels and values, each on one line."""
        ask = self.ask
        found = [("Agent", shown_word(self.key.agent))]
        if ask.asked_by is not None:
            found.append(("Asked for by", shown_word(ask.asked_by)))
        if ask.expires_at is not None and not self.ended:
            until = datetime.fromtimestamp(ask.expires_at, UTC)
            found.append(("Open until", f"{until:%Y-%m-%d %H:%M} UTC"))
        if self.ended:
            found.append(("Outcome", self.outcome))
        return tuple(found)

    @property
    def outcome(self) -> str:
        """How the question ended, and by whom."""
        ask, entry = self.ask, decided_by(self.ask)
        if self.event == "expired":
            return "nobody answered in time"
        said = answer_words(ask, ask.answer)[0].lower()
        word = "cancelled" if self.event == "cancelled" else said
        if entry is None:
            return word
        through = f" through {channel_words(entry.via)}" if entry.via else ""
        return f"{word} by {shown_word(entry.actor)}{through}"


def end_of(ask: Interrupt) -> Event:
    """How a question ended, as it is told.

    Args:
        ask: one that is no longer open, or whose time is over.
    """
    match ask.status:
        case InterruptStatus.OPEN | InterruptStatus.EXPIRED:
            return "expired"
        case InterruptStatus.CANCELLED:
            return "cancelled"
        case _:
            answer = ask.answer
            return "cancelled" if answer and answer.status == "cancelled" else "answered"


def asks_for(call: ToolCall) -> str:
    """What an approval is asked for, in a few words."""
    return f"Approve {shown_name(call.name)}?"


def args_of(call: ToolCall) -> str:
    """A tool call's arguments as JSON, for people to read."""
    return shown_json(dict(call.args), indent=2)


def message_of(ask: Interrupt, *, show_args: bool) -> str:
    """What the agent says of a question, with or without what looks like arguments.

    A question about a call that the conversation does not have says the call itself.
    """
    said = ask.message or ""
    return visible(said if show_args else without_arguments(said))


def shown_call(ask: Interrupt, *, title: int, text: int, name: int) -> ShownCall | None:
    """The call of an approval as a message shows it; None of another question.

    Args:
        ask: the question.
        title: how long the place's titles may be, in UTF-16 code units.
        text: how long its texts may be.
        name: how long the asker's name may be.
    """
    call = ask.tool_call
    if call is None:
        return None
    return as_json(
        call.name,
        call.args,
        ask.asked_by,
        words=max(_TITLES.values(), key=len) + "Approve {}?",
        title=title,
        text=text,
        name=name,
        is_latest=edited_so_far(ask) is None,
        preview=ask.preview,
    )


def cut(text: str, most: int) -> str:
    """A text of at most so many UTF-16 code units, which is how most services count.

    Args:
        text: any.
        most: how many; 1 at least.
    """
    return in_room(text, most).text
