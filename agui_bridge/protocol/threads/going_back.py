"""Whether a client's list goes back in the conversation, or is only behind it.

A list that ends early is an edit, a request for another answer, or a page that has not heard of the
newest turns: the wire does not tell which. What is taken back leaves the model's context, and what
was executed there would be executed again. So going back takes the **sign**: the id of the newest
user's or assistant's message that the page had before it went back. If it names the thread's
newest one, the page knew all that it takes back. If it names another, the page is behind, and its
list goes back nowhere. Without the sign a list takes back nothing but its own page's talk.

Source: docs/contract.md, "Going back"; docs/contract-reasons.md has the counterexamples.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.own_metadata import actor_of, own_of
from agui_bridge.protocol.threads.messages.repeats import calls_of
from agui_bridge.protocol.threads.messages.stored import StoredMessage

__all__ = ["GoingBack", "GoingBackPolicy", "Kept", "is_turn"]

GoingBackPolicy = Literal["text", "signed", "ungated", "always"]
"""What a list without the sign takes back: text alone, nothing, besides calls that nobody was asked
about where it only wants another answer, or all."""

Kept = Literal["archived", "behind", "calls", "others", "superseded", "unfinished", "unsigned"]
"""Why a list that ends early took nothing back."""


def is_turn(message: Mapping[str, Any]) -> bool:
    """Whether it is a user's or an assistant's message."""
    return message["role"] in ("user", "assistant")


@dataclass(frozen=True, slots=True)
class GoingBack:
    """By what it is decided whether a list goes back.

    Attributes:
        allowed: whether lists go back at all: on idle threads, with no answers in the input.
        policy: for lists without the sign.
        sign: id of the newest turn message that the page had; None where it gives none.
        actor: who sends the list.
        begun_by: whose messages those are that name nobody; None where nobody knows.
        read_only: whether calls of a tool only look, by its name.
        asked: whether anybody was asked about a call, by its id; heeded under `ungated` alone.
    """

    allowed: bool = True
    policy: GoingBackPolicy = "text"
    sign: str | None = None
    actor: str = "anonymous"
    begun_by: str | None = None
    read_only: Collection[str] = field(default_factory=frozenset)
    asked: Callable[[str], bool] = lambda call: True

    def fault(
        self,
        turns: Sequence[StoredMessage],
        kept: int,
        gone: Sequence[StoredMessage],
        *,
        brings_new: bool,
        holds_superseded: bool,
    ) -> Kept | None:
        """Why a list goes back nowhere; None where it goes back.

        Args:
            turns: the thread's turn messages, in order.
            kept: how many of them the list begins with.
            gone: what would leave the context, in order.
            brings_new: whether the list has a new user message, not only a known one at its end.
            holds_superseded: whether it holds a message that was taken back before.
        """
        if self.sign is not None:
            return None if self.sign == turns[-1].id else "behind"
        if self.policy == "always":
            return None
        if self.policy == "signed" or kept == 0:
            return "unsigned"
        if holds_superseded:
            return "superseded"
        if brings_new and turns[kept].message["role"] != "user":
            return "unfinished"
        if any(self._is_of_another(message) for message in gone):
            return "others"
        wants_answer = not brings_new and not any(m.message["role"] == "user" for m in gone)
        free = self.policy == "ungated" and wants_answer
        for message in gone:
            for call in calls_of([message.message]):
                if not self._may_go(message, call, free=free):
                    return "calls"
        return None

    def _is_of_another(self, message: StoredMessage) -> bool:
        if message.message["role"] != "user":
            return False
        actor = actor_of(message.message) or self.begun_by
        return actor is not None and actor != self.actor

    def _may_go(self, message: StoredMessage, call: Mapping[str, Any], *, free: bool) -> bool:
        if call["function"]["name"] in self.read_only:
            return True
        looks = own_of(message.message).get("readOnly", ())
        return call["id"] in looks or (free and not self.asked(call["id"]))
