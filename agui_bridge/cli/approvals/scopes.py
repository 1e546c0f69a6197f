"""What a list of one scope says where that scope has nothing: which scopes have something."""

from __future__ import annotations

from collections.abc import Sequence

from agui_bridge.text.visible import visible_line

__all__ = ["nothing_in"]

_MOST = 10
"""Scopes that are named."""


def nothing_in(scope: str, what: str, others: Sequence[str]) -> str:
    """Say that there is nothing, and where else there is something.

    Args:
        scope: the one that was asked for.
        what: what it has none of, as in "There are no …".
        others: the scopes that have some, of any state.
    """
    told = f"There are no {what} in the scope {visible_line(scope)}."
    found = [visible_line(other) for other in others if other != scope]
    if not found:
        return told
    more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return f"{told} Others have some: --scope {', '.join(found[:_MOST])}{more}."
