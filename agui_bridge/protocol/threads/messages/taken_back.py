"""Calls that were executed and left the context: the model is told of them once.

Whoever goes back over a payment wants another conversation, not another payment. The note stands
with the message that took the calls back, and goes wherever that message goes.
Source: docs/contract.md, G15.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from agui_bridge.protocol.threads.content_parts import own_of
from agui_bridge.protocol.threads.messages.archived import StoredMessage, calls_of

# --- the places of messages in a client's list, which a snapshot does not change ---
#
# AG-UI's clients take a MESSAGES_SNAPSHOT in by id: what they have stays in its place, what the
# snapshot lacks goes, and what they lack comes behind. Source: docs/contract.md, W12 to W14.

_TOLD = frozenset({"user", "assistant", "tool"})
"""Roles of the messages that every client keeps."""


def told_alone(
    messages: Sequence[Mapping[str, Any]], listed: Sequence[str], new: Collection[str]
) -> int | None:
    """How many messages of a thread a client is told first, so that the rest comes in its place.

    They are what it has in the thread's order, with what it lacks behind that; all else that it
    has goes, and comes back with the whole. They end with a user message: assistant-ui gives up the
    answer that it awaits where a snapshot ends with an assistant's.

    Args:
        messages: the thread's, in order.
        listed: ids of the client's list, in its order.
        new: ids of the messages that came with the list.

    Returns:
        None where one snapshot of the whole puts everything in its place.
    """
    at = {id: place for place, id in enumerate(listed)}
    places = _places(messages, at)
    has = [place for place in places if place is not None]
    lacks = next((n for n, place in enumerate(places) if place is None), len(places))
    sorted_until = next((n for n in range(1, len(has)) if has[n] < has[n - 1]), len(has))
    if lacks == len(has) == sorted_until:
        # Nothing that it has stands behind what it lacks.
        return None
    if sorted_until < lacks:
        until = sorted_until
    else:
        until = next((n for n in range(lacks, len(places)) if places[n] is not None), len(places))
    seen = [n for n, message in enumerate(messages) if message["role"] in _TOLD][:until]
    users = [n for n in seen if messages[n]["role"] == "user" and messages[n]["id"] not in new]
    return users[-1] + 1 if users else 0


def _places(messages: Sequence[Mapping[str, Any]], at: Mapping[str, int]) -> list[int | None]:
    """Where a client has a thread's messages; results that follow one another in its own order."""
    found: list[int | None] = []
    told = (message for message in messages if message["role"] in _TOLD)
    for are_results, together in groupby(told, lambda message: message["role"] == "tool"):
        places = [at.get(message["id"]) for message in together]
        if are_results:
            places.sort(key=lambda place: (place is None, place or 0))
        found += places
    return found


_LONGEST: Final = 500
"""Characters of a call's arguments, or of its result, that are told at most."""


def taken_back_calls(
    stored: Sequence[StoredMessage], gone: Collection[str], read_only: Collection[str]
) -> list[dict[str, str]]:
    """The calls with a result among messages that leave the context, as the note keeps them.

    Args:
        stored: the messages in context.
        gone: ids of those that leave it.
        read_only: names of the tools whose calls changed nothing.
    """
    leaving = [message.message for message in stored if message.id in gone]
    results = {m["toolCallId"]: m["content"] for m in leaving if m["role"] == "tool"}
    calls = [
        {
            "name": call["function"]["name"],
            "arguments": call["function"]["arguments"][:_LONGEST],
            "result": _text(results[call["id"]])[:_LONGEST],
        }
        for call in calls_of(leaving)
        if call["id"] in results and call["function"]["name"] not in read_only
    ]
    # What was taken back before stays told.
    earlier = [call for message in leaving for call in own_of(message).get("takenBack", ())]
    return [*earlier, *calls]


def for_agent(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message as the agent gets it: with the note, where it has one."""
    calls = own_of(message).get("takenBack") if message.get("role") == "user" else None
    if not calls:
        return message
    note = _note(calls)
    content = message.get("content")
    if isinstance(content, list):
        return {**message, "content": [*content, {"type": "text", "text": note}]}
    return {**message, "content": f"{content or ''}{note}"}


def last_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """The text of the last user message, "" where there is none; without the note."""
    for message in reversed(messages):
        if message.get("role") == "user":
            text = _text(message.get("content"))
            calls = own_of(message).get("takenBack")
            return text.removesuffix(_note(calls)) if calls else text
    return ""


def _note(calls: Sequence[Mapping[str, str]]) -> str:
    lines = [f"- {call['name']}({call['arguments']}): {call['result']}" for call in calls]
    return "\n".join(
        (
            "\n\n[The conversation was changed from here on. These calls had been made before, and "
            "what they did stays done:",
            *lines,
            "]",
        )
    )


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")
