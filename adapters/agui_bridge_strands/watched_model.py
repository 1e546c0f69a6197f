"""A model as an agent of one run has it: calls have unique ids, and what can't be read is noted."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from agui_bridge.adapters import CallIds

__all__ = ["WatchedModel"]


class WatchedModel:
    """Stands before a model.

    Args:
        model: the model.
        calls: the ids of the thread's calls.
        unreadable: gets the ids of calls whose arguments are no JSON object.
    """

    def __init__(self, model: Any, calls: CallIds, unreadable: set[str]) -> None:
        self._model = model
        self._calls = calls
        self._unreadable = unreadable

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
                    call = self._calls.new(use["toolUseId"])
                    if call != use["toolUseId"]:
                        told = {**start, "toolUse": {**use, "toolUseId": call}}
                        block = {**event["contentBlockStart"], "start": told}
                        event = {**event, "contentBlockStart": block}
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
