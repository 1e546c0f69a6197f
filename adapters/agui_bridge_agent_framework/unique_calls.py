"""Ids of calls, each unique in its thread.

Some clients name a call by its tool, so that the second one has the id of the first: to people it
would be the same call, and an approval of one would be taken for one of the other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from agent_framework import ChatResponseUpdate

from agui_bridge.adapters import Run
from agui_bridge_agent_framework.content import arguments_text

__all__ = ["UniqueCalls"]


class UniqueCalls:
    """The ids of the calls of one thread.

    Args:
        run: its run, which mints ids.
    """

    def __init__(self, run: Run) -> None:
        self._mint = run.mint
        self._taken: set[str] = {
            call["id"] for message in run.raw_messages for call in message.get("toolCalls") or ()
        }

    def renamer(self) -> Callable[[ChatResponseUpdate], ChatResponseUpdate]:
        """What gives the calls of one reply of a model ids of their own, in each of its updates."""
        own: dict[str, str] = {}
        pieces: dict[str, str] = {}

        def rename(update: ChatResponseUpdate) -> ChatResponseUpdate:
            for content in _calls(update.contents):
                given, piece = content.call_id, arguments_text(content.arguments or "")
                is_another = piece and content.name and _is_object(pieces.get(given, ""))
                if given not in own or is_another:
                    own[given] = self._mint() if given in self._taken else given
                    self._taken.add(own[given])
                    pieces[given] = ""
                pieces[given] += piece
                content.call_id = own[given]
            return update

        return rename


def _calls(contents: Iterable[Any]) -> Iterable[Any]:
    """The calls that are executed here; a provider knows its own by their ids."""
    return (
        content
        for content in contents
        if content.type == "function_call"
        and content.call_id
        and not (content.informational_only or content.hosted)
    )


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
