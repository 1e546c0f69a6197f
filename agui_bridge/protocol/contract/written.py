"""What a run has written under its lease, for a store that lost some of it in a failover.

The claim is there as long as the lease is. What came after it may be gone: results that were told,
and that their questions are closed. Source: docs/contract.md, X3 to X5.
"""

from __future__ import annotations

from agui_bridge.frozen import replace
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.audit_chain import ChainHead
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.records import Interrupt

__all__ = ["Written"]


class Written:
    """The rows that a run has written since its claim, each as it was written last.

    The record is written whole each time, and needs no keeping.
    """

    __slots__ = ("_interrupts", "_messages", "_superseded")

    def __init__(self) -> None:
        self._interrupts: dict[str, Interrupt] = {}
        self._messages: dict[str, StoredMessage] = {}
        self._superseded: dict[str, None] = {}

    def note(self, change: Change) -> None:
        """Take note of a change that the store has taken."""
        self._interrupts.update((ask.id, ask) for ask in change.interrupts)
        for message in change.messages:
            self._messages[message.id] = message
            self._superseded.pop(message.id, None)
        for id in change.superseded:
            self._messages.pop(id, None)
            self._superseded[id] = None

    def whole(self, change: Change, chain: ChainHead | None) -> Change:
        """A change with all that was written before it.

        Args:
            change: what is to be written now.
            chain: the end of the audit chain as it is stored: the rows behind it are lost, and are
                sealed again.
        """
        interrupts = self._interrupts | {ask.id: ask for ask in change.interrupts}
        messages = self._messages | {message.id: message for message in change.messages}
        gone = dict.fromkeys(id for id in self._superseded if id not in messages)
        gone.update(dict.fromkeys(change.superseded))
        return replace(
            change,
            record=replace(change.record, chain=chain),
            interrupts=tuple(interrupts.values()),
            messages=tuple(row for id, row in messages.items() if id not in gone),
            superseded=tuple(gone),
        )
