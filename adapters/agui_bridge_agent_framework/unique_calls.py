"""Calls as the model makes them: each has an id that is unique in its thread.

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
    """The calls of one thread.

    Args:
        run: its run, which mints ids.

    Attributes:
        proposed: the arguments that the model gave, as text, by the ids of this run's calls.
    """

    def __init__(self, run: Run) -> None:
        self.proposed: dict[str, str] = {}
        self._ids = run.call_ids()

    def renamer(self) -> Callable[[ChatResponseUpdate], ChatResponseUpdate]:
        """What gives the calls of one reply of a model ids of their own, in each of its updates."""
        own: dict[str, str] = {}
        pieces: dict[str, str] = {}

        def rename(update: ChatResponseUpdate) -> ChatResponseUpdate:
            for content in _calls(update.contents):
                # Clients that tell calls apart themselves give each an id besides the provider's.
                given = content.id or content.call_id
                piece = arguments_text(content.arguments or "")
                is_repeated = content.merge_mode == "replace"
                is_another = (
                    not (is_repeated or content.id)
                    and content.name
                    and piece.strip()
                    and _is_object(pieces.get(given, ""))
                )
                if given not in own or is_another:
                    own[given] = self._ids.new(content.call_id)
                    pieces[given] = ""
                pieces[given] = piece if is_repeated else pieces[given] + piece
                content.call_id = own[given]
                self.proposed[own[given]] = pieces[given]
            return update

        return rename


def _calls(contents: Iterable[Any]) -> Iterable[Any]:
    """The calls that are executed here; a provider knows its own by their ids."""
    return (
        content
        for content in contents
        if content.type == "function_call"
        and (content.id or content.call_id)
        and not (content.informational_only or content.hosted)
    )


def _is_object(text: str) -> bool:
    """Whether it is a whole JSON object; most of the time arguments are looked at, it is not."""
    try:
        return text.rstrip().endswith("}") and isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
