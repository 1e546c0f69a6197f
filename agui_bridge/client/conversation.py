"""What a client knows of one thread: messages, state, and the questions that are open."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ag_ui.core import Interrupt
from pydantic import TypeAdapter

from agui_bridge.client.errors import BrokenStream
from agui_bridge.protocol.json_patch import PatchError
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.threads.going_back import is_turn
from agui_bridge.protocol.threads.history import STRIDE, History, StoredMessage
from agui_bridge.protocol.verifier.verifier import Verifier

__all__ = ["Conversation"]

logger: Final = logging.getLogger("agui_bridge.client")

_INTERRUPTS: Final = TypeAdapter(list[Interrupt])


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
        self.begin_stream()
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

    @property
    def newest_turn(self) -> str | None:
        """Id of the newest message of the user or the assistant; None where there is none."""
        turns = (m for m in reversed(self._history.messages) if is_turn(m))
        return next((message["id"] for message in turns), None)

    def go_back(self, message_id: str | None, *, keep: bool) -> None:
        """Forget what stands behind a user message.

        Args:
            message_id: the message's; None is the last one.
            keep: whether the message itself stays.

        Raises:
            LookupError: there is no such user message.
        """
        messages = self._history.messages
        for place in range(len(messages) - 1, -1, -1):
            message = messages[place]
            if message["role"] == "user" and message_id in (None, message["id"]):
                self.restore(messages[: place + keep], self.state, self.pending_interrupts)
                return
        raise LookupError(f"There is no user message {message_id or 'to go back to'!r}.")

    def begin_stream(self) -> None:
        """Take what comes from now on for another stream than what came."""
        self._verifier = Verifier("consumer", lambda: str(uuid.uuid4()))

    def apply(self, event: WireEvent) -> Sequence[WireEvent]:
        """Fold one event of a stream in.

        Args:
            event: as it came.

        Returns:
            The events that it stands for: itself without what AG-UI does not describe, for a chunk
            the START, CONTENT and END events, nothing for an event of an unknown type. What is
            left out is logged.

        Raises:
            BrokenStream: it is not AG-UI's, or may not come now.
        """
        events, notes, faults = self._verifier.take(event)
        for note in notes:
            logger.warning("%s", note)
        for each in events:
            self._fold(each)
        if faults:
            raise BrokenStream(f"The stream is not AG-UI's: {faults[0].message}.")
        return events

    def _fold(self, event: WireEvent) -> None:
        kind = event["type"]
        if kind == "RUN_FINISHED":
            outcome = event.get("outcome") or {}
            self.pending_interrupts = tuple(
                _INTERRUPTS.validate_python(outcome.get("interrupts", []))
            )
        elif kind == "RUN_STARTED":
            for message in (event.get("input") or {}).get("messages") or ():
                self._history.add(message)
        try:
            self._history.apply(event)
        except PatchError as error:
            # As the official client: the next snapshot mends it.
            what = "state" if kind == "STATE_DELTA" else "activity"
            logger.warning("Failed to apply %s patch: %s does not fit: %s", what, kind, error)
