"""The places of messages in a client's list, which a snapshot does not change.

AG-UI's clients take a MESSAGES_SNAPSHOT in by id: what they have stays in its place, what the
snapshot lacks goes, and what they lack comes behind. Source: docs/contract.md, W12 to W14.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import Any

__all__ = ["told_alone"]

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
