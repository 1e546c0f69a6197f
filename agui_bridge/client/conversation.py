"""What a client knows of one thread: messages, state, and the questions that are open."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from ag_ui.core import Interrupt
from pydantic import TypeAdapter

from agui_bridge.client.exchange import AnswerFault, BrokenStream
from agui_bridge.protocol.answers.decisions import find_answer_fault
from agui_bridge.protocol.dialects.dialect import (
    INTERRUPT_EVENT,
    CommandReader,
    command_resume,
    draft_resume,
    from_draft,
)
from agui_bridge.protocol.json_patch import PatchError
from agui_bridge.protocol.json_values import WireEvent
from agui_bridge.protocol.schemas.checking import UnsafeSchema, check_schema
from agui_bridge.protocol.threads.client_messages import is_turn
from agui_bridge.protocol.threads.history import STRIDE, History, StoredMessage
from agui_bridge.protocol.verifier.verifier import Verifier

# --- answers to open interrupts, checked before they are sent ---
#
# The checks are those of `buildResumeArray` and `HttpAgent` in `@ag-ui/client` 1.0.0, and besides
# the payload against the interrupt's schema. The server checks again: its clock and its record of
# what is open decide.

# --- the dialects that a client can speak: how it reads pauses and writes answers ---

ClientDialectName = Literal["1.1", "1.0", "0.x", "langgraph", "draft"]
"""How the endpoint writes its pauses; docs/dialects.md tells them apart."""

Entry = Mapping[str, Any]
Reader = Callable[[WireEvent], WireEvent]


@dataclass(frozen=True, slots=True)
class ClientDialect:
    """One dialect, as a client speaks it.

    Attributes:
        version: the protocol version that is declared, None for none.
        reader: makes what turns one stream's events into the 1.0 shape.
        answer: makes the members of an input that carry resume entries; gets what is open.
        asked_for: whether a server must be asked for it by name.
    """

    version: str | None
    reader: Callable[[], Reader]
    answer: Callable[[Sequence[Entry], Sequence[Interrupt]], dict[str, Any]]
    asked_for: bool = False


def _as_it_is() -> Reader:
    return lambda event: event


def _whole(entries: Sequence[Entry], _: Sequence[Interrupt]) -> dict[str, Any]:
    return {"resume": [dict(entry) for entry in entries]}


def _draft(entries: Sequence[Entry], _: Sequence[Interrupt]) -> dict[str, Any]:
    return draft_resume(_only(entries))


def _command(entries: Sequence[Entry], asked: Sequence[Interrupt]) -> dict[str, Any]:
    entry = _only(entries)
    if entry["status"] == "cancelled":
        raise AnswerFault(
            "INVALID_RESUME_PAYLOAD",
            "The langgraph dialect can't cancel: resolve the question, or stop the thread.",
            (entry["interruptId"],),
        )
    (interrupt,) = asked
    return command_resume(entry, (interrupt.metadata or {}).get(INTERRUPT_EVENT))


def _only(entries: Sequence[Entry]) -> Entry:
    if len(entries) != 1:
        raise AnswerFault(
            "INTERRUPT_NOT_COVERED",
            f"This dialect answers one question at a time, and {len(entries)} are open.",
            tuple(entry["interruptId"] for entry in entries),
        )
    return entries[0]


DIALECTS: Final[Mapping[ClientDialectName, ClientDialect]] = {
    **{version: ClientDialect(version, _as_it_is, _whole) for version in ("1.1", "1.0")},
    "0.x": ClientDialect(None, _as_it_is, _whole),
    "langgraph": ClientDialect(None, lambda: CommandReader().read, _command, asked_for=True),
    "draft": ClientDialect(None, lambda: from_draft, _draft, asked_for=True),
}
"""By name."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """Somebody decided. A refusal is a decision: `{"approved": False}`.

    Attributes:
        payload: the answer, any JSON value; falsy ones are answers too.
        metadata: about the answer, such as a signature.
    """

    payload: Any = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Nobody decided.

    Attributes:
        metadata: goes with the answer, as JSON.
    """

    metadata: Mapping[str, Any] | None = None


Answers = Mapping[str, Resolved | Cancelled] | Iterable[tuple[str, Resolved | Cancelled]]
"""By interrupt id what was decided, or pairs of both."""


def is_expired(interrupt: Interrupt, now: datetime | None = None) -> bool:
    """Whether an interrupt can't be resolved any more; one whose time can't be read never is.

    Args:
        interrupt: its `expires_at` is ISO 8601, in UTC where it names no zone.
        now: by default the time of this machine.
    """
    try:
        end = datetime.fromisoformat(interrupt.expires_at or "")
    except ValueError:
        return False
    end = end if end.tzinfo else end.replace(tzinfo=UTC)
    return end <= (now or datetime.now(UTC))


def build_resume(
    interrupts: Sequence[Interrupt], answers: Answers, *, now: datetime | None = None
) -> list[dict[str, Any]]:
    """Make the `resume` of an input that answers all open interrupts.

    Args:
        interrupts: what is open, as `Client.pending_interrupts` has it.
        answers: one for each of them.
        now: by which they expire; by default this machine's time.

    Returns:
        One entry for each interrupt, in their order.

    Raises:
        AnswerFault: INTERRUPT_DUPLICATE, two answers for one; INTERRUPT_NOT_COVERED, one
            without an answer; INTERRUPT_NOT_FOUND, an answer to none of them;
            INTERRUPT_EXPIRED, resolved too late (cancelling is still possible);
            INVALID_RESUME_PAYLOAD, the payload does not satisfy the schema.
        TypeError: an answer is neither Resolved nor Cancelled.
    """
    given = _by_id(answers)
    known = {interrupt.id for interrupt in interrupts}
    _check_none(
        [interrupt_id for interrupt_id in given if interrupt_id not in known],
        "INTERRUPT_NOT_FOUND",
        "There is no open interrupt",
    )
    _check_none(
        [interrupt.id for interrupt in interrupts if interrupt.id not in given],
        "INTERRUPT_NOT_COVERED",
        "There is no answer to",
    )
    return [_entry(interrupt, given[interrupt.id], now) for interrupt in interrupts]


def _by_id(answers: Answers) -> dict[str, Resolved | Cancelled]:
    if isinstance(answers, Mapping):
        return dict(answers)
    given: dict[str, Resolved | Cancelled] = {}
    for interrupt_id, answer in answers:
        if interrupt_id in given:
            _check_none([interrupt_id], "INTERRUPT_DUPLICATE", "There are two answers to")
        given[interrupt_id] = answer
    return given


def _check_none(ids: Sequence[str], code: str, what: str) -> None:
    if ids:
        raise AnswerFault(code, f"{what} {', '.join(ids)}.", tuple(ids))


def _entry(
    interrupt: Interrupt, answer: Resolved | Cancelled, now: datetime | None
) -> dict[str, Any]:
    if not isinstance(answer, Resolved | Cancelled):
        raise TypeError(
            f"The answer to {interrupt.id} is a {type(answer).__name__}: write Resolved(payload), "
            "or Cancelled()."
        )
    entry: dict[str, Any] = {"interruptId": interrupt.id}
    if isinstance(answer, Cancelled):
        entry["status"] = "cancelled"
    else:
        if is_expired(interrupt, now):
            raise AnswerFault(
                "INTERRUPT_EXPIRED",
                f"{interrupt.id} expired at {interrupt.expires_at}; it can only be cancelled.",
                (interrupt.id,),
            )
        if fault := _fault(interrupt, answer.payload):
            raise AnswerFault(
                "INVALID_RESUME_PAYLOAD", f"The answer to {interrupt.id}: {fault}", (interrupt.id,)
            )
        entry |= {"status": "resolved", "payload": answer.payload}
    if answer.metadata is not None:
        entry["metadata"] = dict(answer.metadata)
    return entry


def _fault(interrupt: Interrupt, payload: Any) -> str | None:
    if interrupt.response_schema is None:
        return None
    try:
        # It may be anybody's: one that could do harm is not tried.
        check_schema(interrupt.response_schema)
    except UnsafeSchema:
        return None  # its producer checks the answer itself
    return find_answer_fault(interrupt.response_schema, payload)


# --- the conversation ---

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
