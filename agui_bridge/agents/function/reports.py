"""What became of tool calls, told while the run goes on and when it is over."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ag_ui.core import BaseEvent, ToolCallResultEvent

from agui_bridge.adapters import Run
from agui_bridge.agents.function.call_events import tool_result
from agui_bridge.agents.function.outbox import Outbox
from agui_bridge.agents.replay.continuation import EntryKey, Outcome

__all__ = ["Reports"]


class Reports:
    """Tells the results of one run's tool calls.

    Args:
        run: for results that come when it is over.
        outbox: for those before.

    Attributes:
        shown: the calls that the client was shown: their ids, and what carries them out, None
            while nobody has come to that.
    """

    def __init__(self, run: Run, outbox: Outbox) -> None:
        """Begin with a run that goes on."""
        self._run = run
        self._outbox = outbox
        self._left = False
        self.shown: dict[str, EntryKey | None] = {}

    def announce(self, call: EntryKey, call_id: str, items: Iterable[BaseEvent]) -> None:
        """Show the client a call that is about to begin."""
        self.shown[call_id] = call
        for item in items:
            self._outbox.put(item)

    def unbegun(self, begun: Callable[[EntryKey], bool]) -> list[str]:
        """The calls that were shown, and of which nobody began to carry out what they are for."""
        return [call for call, key in self.shown.items() if key is None or not begun(key)]

    def tell(self, call_id: str, outcome: Outcome) -> None:
        """Tell what came of a call."""
        result = tool_result(call_id, self._run.mint(), outcome)
        if self._left:
            self.leave([result])
        else:
            self._outbox.put(result)

    def leave(self, unread: Iterable[BaseEvent | str]) -> None:
        """Note that nobody reads the outbox any more, and keep the results that were in it."""
        self._left = True
        for item in unread:
            if isinstance(item, ToolCallResultEvent) and isinstance(item.content, str):
                self._run.late_result(item.tool_call_id, item.content)
