"""How refusals are told to a client that takes RUN_ERROR for the end of everything.

Source: docs/contract.md, W21 to W28.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

from agui_bridge.errors import Refused
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.own_metadata import with_own
from agui_bridge.protocol.threads.records import Json

__all__ = [
    "REFUSED_EVENT",
    "RefusalChoice",
    "empty_message",
    "refusal_choice",
    "refused_event",
    "refused_outcome",
]

RefusalChoice = Literal["error", "ask"]
"""`error`: the thread's outcome, then RUN_ERROR; `ask`: the open questions, saying why again."""

REFUSED_EVENT: Final = "agui_bridge.refused"
"""The name of the CUSTOM event that tells the code and the message."""


def refusal_choice(asked: object, field: str) -> RefusalChoice:
    """The choice of a request.

    Raises:
        Refused: INVALID_INPUT, there is no such choice.
    """
    for choice in get_args(RefusalChoice):
        if asked == choice:
            found: RefusalChoice = choice
            return found
    choices = " and ".join(map(repr, get_args(RefusalChoice)))
    raise Refused("INVALID_INPUT", f"{field}: there are {choices}.", {"field": field})


def refused_event(code: str, message: str) -> WireEvent:
    """What was refused and why, for pages that show it apart from the questions."""
    return {
        "type": "CUSTOM",
        "name": REFUSED_EVENT,
        "value": {"code": code, "message": message},
    }


def empty_message(message_id: str) -> tuple[WireEvent, ...]:
    """A message without words, for pages that show a question only beside one."""
    return (
        {"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"},
        {"type": "TEXT_MESSAGE_END", "messageId": message_id},
    )


def refused_outcome(outcome: Mapping[str, Json], code: str, message: str) -> dict[str, Json]:
    """An interrupt outcome in which each question says why it is asked again.

    It stands in the metadata, and before the question's own words too: which pages show no more
    than these can't be known here.
    """
    asked = [_asked_again(interrupt, code, message) for interrupt in outcome["interrupts"]]
    return {**outcome, "interrupts": asked}


def _asked_again(interrupt: Mapping[str, Any], code: str, message: str) -> dict[str, Any]:
    refused = {"code": code, "message": message}
    metadata = with_own(interrupt.get("metadata"), "refused", refused)
    said = " ".join(filter(None, (f"{code}: {message}", interrupt.get("message"))))
    return {**interrupt, "message": said, "metadata": metadata}
