"""What an endpoint's own question offers, and the answers that follow from it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agui_bridge.errors import AgentMistake
from agui_bridge.protocol.schemas.checking import check_schema, find_schema_fault

__all__ = ["bad_edits", "edit", "edited_schema", "forbids", "proposed_arguments"]

Json = dict[str, Any]


def edited_schema(interrupt: Mapping[str, Any]) -> Json | None:
    """The schema of `editedArgs` in a responseSchema; None if edits are not offered."""
    schema = interrupt.get("responseSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    found = properties.get("editedArgs") if isinstance(properties, dict) else None
    return found if isinstance(found, dict) else None


def proposed_arguments(
    interrupt: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]
) -> Json | None:
    """The arguments of the call that an interrupt asks about; None if no message shows them.

    Args:
        interrupt: of a pause.
        messages: the client's, which hold the call.
    """
    for message in messages:
        for call in message.get("toolCalls") or ():
            if call.get("id") == interrupt.get("toolCallId"):
                try:
                    arguments = json.loads(call["function"]["arguments"])
                except (KeyError, TypeError, ValueError):
                    return None
                return arguments if isinstance(arguments, dict) else None
    return None


def edit(arguments: Json, marker: str, approval: Any) -> Json | None:
    """An approval with other arguments: `{marker}-edited` wherever the marker was.

    Args:
        arguments: as they were proposed.
        marker: of the thread.
        approval: the payload of a plain approval.

    Returns:
        None if the marker is in none of them, so that an edit could not be told apart.
    """
    edited = _marked(arguments, marker)
    return None if edited == arguments else _with(approval, edited)


def bad_edits(interrupt: Mapping[str, Any], arguments: Json, approval: Any) -> list[Json]:
    """Edits that the interrupt's own schema forbids: no object, and without what is required."""
    schema = interrupt.get("responseSchema")
    if not isinstance(schema, dict):
        return []
    less = [{k: v for k, v in arguments.items() if k != left_out} for left_out in arguments]
    wrong = [{key: {"not": ["this"]} for key in arguments}]
    candidates = [_with(approval, args) for args in ("all", *less, *wrong)]
    return [payload for payload in candidates if forbids(schema, payload)]


def forbids(schema: Mapping[str, Any], payload: Any) -> bool:
    """Whether a responseSchema is one that can be used, and forbids a payload."""
    try:
        check_schema(schema)
        return find_schema_fault(schema, payload) is not None
    except AgentMistake:
        return False  # The check of schemas tells that this one can't be used.


def _with(approval: Any, arguments: Any) -> Json:
    plain = approval if isinstance(approval, dict) else {"approved": True}
    return {**plain, "editedArgs": arguments}


def _marked(value: Any, marker: str) -> Any:
    if isinstance(value, str):
        return value.replace(marker, f"{marker}-edited")
    if isinstance(value, dict):
        return {key: _marked(item, marker) for key, item in value.items()}
    return [_marked(item, marker) for item in value] if isinstance(value, list) else value
