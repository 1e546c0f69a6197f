"""Tool calls whose arguments a person edited: what runs stands in them, what was proposed beside.

The conversation tells what was done. An agent that reads there what it had proposed would take it
for what ran. What it proposed is kept in the metadata of the message, for pages that show both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["proposed_arguments", "with_arguments", "with_executed", "with_proposed"]

_OURS, _PROPOSED = "agui_bridge", "proposed"


def proposed_arguments(metadata: Any) -> Mapping[str, str]:
    """The arguments as the agent proposed them, JSON as text, by the id of each edited call.

    Args:
        metadata: of an assistant's message; clients may have sent it.
    """
    ours = metadata.get(_OURS) if isinstance(metadata, Mapping) else None
    proposed = ours.get(_PROPOSED) if isinstance(ours, Mapping) else None
    calls = proposed.items() if isinstance(proposed, Mapping) else ()
    return {call: text for call, text in calls if isinstance(text, str)}


def with_executed(message: Mapping[str, Any], call_id: str, arguments: str) -> dict[str, Any]:
    """A message whose call has the arguments that a person made of those proposed.

    Args:
        message: an assistant's, with the call.
        call_id: the call.
        arguments: a JSON object as text.
    """
    (before,) = (c["function"]["arguments"] for c in message["toolCalls"] if c["id"] == call_id)
    proposed = {call_id: before, **proposed_arguments(message.get("metadata"))}
    return _marked(with_arguments(message, call_id, arguments), proposed)


def with_proposed(message: Mapping[str, Any], call_id: str) -> dict[str, Any]:
    """The message as it was before `with_executed`, where nothing came of the edit."""
    proposed = dict(proposed_arguments(message.get("metadata")))
    before = proposed.pop(call_id, None)
    if before is None:
        return dict(message)
    return _marked(with_arguments(message, call_id, before), proposed)


def with_arguments(message: Mapping[str, Any], call_id: str, arguments: str) -> dict[str, Any]:
    """A message whose call has other arguments, a JSON object as text."""
    calls = [
        {**call, "function": {**call["function"], "arguments": arguments}}
        if call["id"] == call_id
        else call
        for call in message["toolCalls"]
    ]
    return {**message, "toolCalls": calls}


def _marked(message: dict[str, Any], proposed: Mapping[str, str]) -> dict[str, Any]:
    metadata = dict(message.pop("metadata", None) or {})
    before = metadata.pop(_OURS, None)
    ours = dict(before) if isinstance(before, Mapping) else {}
    ours.pop(_PROPOSED, None)
    if proposed:
        ours[_PROPOSED] = dict(proposed)
    if ours:
        metadata[_OURS] = ours
    return {**message, "metadata": metadata} if metadata else message
