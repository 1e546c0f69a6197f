"""What a client knows of one thread: messages, state, and the questions that are open."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ag_ui.core import Event, EventType, Interrupt
from pydantic import TypeAdapter, ValidationError

from agui_bridge.client.errors import BrokenStream
from agui_bridge.protocol.json_patch import PatchError
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.lifecycle.chunks import ChunkFault, Chunks
from agui_bridge.protocol.threads.history import STRIDE, History, StoredMessage

__all__ = ["Conversation"]

logger: Final = logging.getLogger("agui_bridge.client")

_EVENT: Final[TypeAdapter[Any]] = TypeAdapter(Event)
_INTERRUPTS: Final = TypeAdapter(list[Interrupt])
_TYPES: Final = frozenset(kind.value for kind in EventType)
_MAY_BE_NULL: Final = frozenset({"snapshot", "value", "event", "result", "rawEvent"})
"""Members for which null is a value. Elsewhere older producers write it for what is absent."""


class Conversation:
    """Folds a thread's events as the official client does; no connection, no clock.

    Args:
        messages: those that are known already, in order, as AG-UI's JSON.
        state: JSON that is shared with the agent.
        pending_interrupts: what the thread waits for.

    Attributes:
        pending_interrupts: what the thread waits for, as its last RUN_FINISHED says.
    """

    def __init__(
        self,
        messages: Sequence[Mapping[str, Any]] = (),
        state: Any = None,
        pending_interrupts: Sequence[Interrupt] = (),
    ) -> None:
        """Begin with what is known of the thread already."""
        self.restore(messages, state, pending_interrupts)

    def restore(
        self,
        messages: Sequence[Mapping[str, Any]],
        state: Any,
        pending_interrupts: Sequence[Interrupt],
    ) -> None:
        """Replace all that is known of the thread.

        Args:
            messages: in order, as AG-UI's JSON.
            state: JSON that is shared with the agent.
            pending_interrupts: what the thread waits for.
        """
        self._history = History(
            [
                StoredMessage(message["id"], number * STRIDE, dict(message))
                for number, message in enumerate(messages, start=1)
            ],
            state,
        )
        self._chunks = Chunks()
        self.pending_interrupts: tuple[Interrupt, ...] = tuple(pending_interrupts)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages as AG-UI has them on the wire, those still streaming as far as they are."""
        return list(self._history.messages)

    @property
    def state(self) -> Any:
        """The shared state."""
        return self._history.state

    def tool_call(self, call_id: str | None) -> dict[str, Any] | None:
        """The tool call of an id, as it stands in its message; None when there is none.

        Args:
            call_id: the call's; None is of no call.
        """
        for message in reversed(self._history.messages):
            for call in message.get("toolCalls") or ():
                if call["id"] == call_id:
                    found: dict[str, Any] = call
                    return found
        return None

    def add(self, message: Mapping[str, Any]) -> None:
        """Add a message of the user's, or a tool message of a frontend tool."""
        self._history.add(dict(message))

    def take_back(self, message_id: str) -> None:
        """Remove a message that no server has seen.

        Args:
            message_id: of one that is not known: nothing happens.
        """
        kept = [m for m in self._history.messages if m["id"] != message_id]
        self.restore(kept, self.state, self.pending_interrupts)

    def apply(self, event: WireEvent) -> list[WireEvent]:
        """Fold one event in.

        Args:
            event: as it came.

        Returns:
            The events that it stands for, checked: itself, or for a chunk the START, CONTENT and
            END events. Events of unknown types, which newer producers may send, are given back
            as they are.

        Raises:
            BrokenStream: its shape is not AG-UI's.
        """
        if event["type"] not in _TYPES:
            return [event]
        event = {
            key: value for key, value in event.items() if value is not None or key in _MAY_BE_NULL
        }
        try:
            _EVENT.validate_python(event)
            events = self._chunks.expand(event)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            where = ".".join(str(step) for step in first["loc"])
            raise BrokenStream(f"An event is not AG-UI's: {where}: {first['msg']}.") from None
        except ChunkFault as fault:
            raise BrokenStream(f"An event is not AG-UI's: {fault}.") from None
        for each in events:
            self._fold(each)
        return events

    def _fold(self, event: WireEvent) -> None:
        if event["type"] == "RUN_FINISHED":
            outcome = event.get("outcome") or {}
            self.pending_interrupts = tuple(
                _INTERRUPTS.validate_python(outcome.get("interrupts", []))
            )
        try:
            self._history.apply(event)
        except PatchError as error:
            # As the official client: the next snapshot mends it.
            logger.warning("%s does not fit what is known: %s", event["type"], error)
