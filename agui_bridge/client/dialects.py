"""The dialects that a client can speak: how it reads pauses and writes answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from ag_ui.core import Interrupt

from agui_bridge.client.errors import AnswerFault
from agui_bridge.protocol.dialects.draft import draft_resume, from_draft
from agui_bridge.protocol.dialects.langgraph import (
    INTERRUPT_EVENT,
    CommandReader,
    command_resume,
)
from agui_bridge.protocol.json_values import WireEvent

__all__ = ["DIALECTS", "ClientDialect", "ClientDialectName"]

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
