"""A model as an agent of one run has it: ids of calls are unique, and what can't be read is noted.

Some providers name a call by its tool, so that the second one has the id of the first: to clients
it would be the same call, and an approval of one would be taken for one of the other.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

__all__ = ["WatchedModel"]


class WatchedModel:
    """Stands before a model.

    Args:
        model: the model.
        taken: ids that calls of the thread have; those of new calls are added.
        unreadable: gets the ids of calls whose arguments are no JSON object.
        mint: gives a new id.
    """

    def __init__(
        self, model: Any, taken: set[str], unreadable: set[str], mint: Callable[[], str]
    ) -> None:
        self._model = model
        self._taken = taken
        self._unreadable = unreadable
        self._mint = mint

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """What the model streams."""
        call: str | None = None
        pieces: list[str] = []
        async for event in self._model.stream(*args, **kwargs):
            if "contentBlockDelta" in event:
                if call is not None:
                    pieces.append(_arguments_in(event))
            elif "contentBlockStart" in event:
                start = event["contentBlockStart"].get("start") or {}
                use = start.get("toolUse")
                call, pieces = None, []
                if use is not None:
                    call = use["toolUseId"]
                    if not call or call in self._taken:
                        call = self._mint()
                        told = {**start, "toolUse": {**use, "toolUseId": call}}
                        block = {**event["contentBlockStart"], "start": told}
                        event = {**event, "contentBlockStart": block}
                    self._taken.add(call)
            elif "contentBlockStop" in event and call is not None:
                if not _is_object("".join(pieces)):
                    self._unreadable.add(call)
                call = None
            yield event


def _arguments_in(event: Any) -> str:
    use = event["contentBlockDelta"].get("delta", {}).get("toolUse") or {}
    return str(use.get("input") or "")


def _is_object(text: str) -> bool:
    try:
        return not text or isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
