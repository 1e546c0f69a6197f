"""Ids that a request names outside of an input: a thread, a session, a user."""

from __future__ import annotations

from agui_bridge.errors import Refused
from agui_bridge.protocol.input_limits import check_id
from agui_bridge.protocol.json_values import find_forbidden

__all__ = ["check_text_id"]


def check_text_id(field: str, value: str, max_bytes: int | None) -> None:
    """Check an id that a store is to have as a key.

    Args:
        field: the field that it stands in.
        value: the id.
        max_bytes: how long it may be in UTF-8; None is no limit.

    Raises:
        Refused: INVALID_INPUT, naming the field.
    """
    if find_forbidden(value) is not None:
        reason = "holds what no text may"
        raise Refused("INVALID_INPUT", f"{field}: {reason}.", {"field": field, "reason": reason})
    check_id(field, value, max_bytes)
