"""The calls of agents under ids that no other call of their thread has.

ADK gives ids to calls that come without, and takes the others as they are, even where an earlier
call has the same one. It does so behind all callbacks, which may make calls up, too.
"""

from __future__ import annotations

import functools
from collections import Counter
from contextvars import ContextVar
from typing import Any, Final

from google.adk.events import Event
from google.adk.flows.llm_flows import functions

from agui_bridge.adapters import ReplyIds, Run

_NAME: Final = "agui_bridge"

_current: ContextVar[UniqueCalls | None] = ContextVar("agui_bridge_adk_calls", default=None)


def hold_calls() -> None:
    """Have ADK ask the run that it is in for the ids of calls. Once per process."""
    plain = functions.populate_client_function_call_id
    if getattr(plain, _NAME, False):
        return

    @functools.wraps(plain)
    def populate(model_response_event: Event) -> None:
        plain(model_response_event)
        calls = _current.get()
        if calls is not None:
            calls.name(model_response_event)

    setattr(populate, _NAME, True)
    # Callbacks come before it, and one that answers keeps the others from being asked. Outside of a
    # run of the bridge nothing changes.
    functions.populate_client_function_call_id = populate


class UniqueCalls:
    """Names the calls of one run, those of agents inside tools included.

    Args:
        run: the run.
    """

    def __init__(self, run: Run) -> None:
        self._ids = run.call_ids()
        self._replies: dict[tuple[str, str], ReplyIds] = {}
        # What is streamed and what is whole may share a call: it is named once.
        self._named: dict[int, Any] = {}

    def begin(self) -> None:
        """Name the calls of what runs in this task, and in those that it begins."""
        _current.set(self)

    def name(self, event: Event) -> None:
        """Name the calls of an event of a model; agents may speak at once."""
        speaker = (event.author, event.branch or "")
        reply = self._replies.pop(speaker, None) or ReplyIds(self._ids.new)
        calls = [call for call in event.get_function_calls() if id(call) not in self._named]
        if event.partial:
            self._replies[speaker] = reply
            numbers = Counter[str]()
            own = []
            for call in calls:
                native = call.id or ""
                numbers[native] += 1
                own.append(reply.piece((native, numbers[native]), native))
        else:
            own = reply.whole(call.id or "" for call in calls)
        for call, named in zip(calls, own, strict=True):
            call.id = named
            self._named[id(call)] = call
