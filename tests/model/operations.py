"""What a process of the model asks the world for, one operation at a time.

A process is a generator that yields these. Between two of them anything may happen: other
processes move, time passes, the process dies or stands still. That is where the races are.
"""

from __future__ import annotations

import enum
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.approval_rule import ApprovalRule
from agui_bridge.protocol.threads.records import StopRequest
from agui_bridge.stores.base import Expected

__all__ = [
    "Act",
    "Action",
    "AskKind",
    "Commit",
    "Delete",
    "Fate",
    "Leave",
    "Load",
    "Operation",
    "Pause",
    "Plan",
    "Process",
    "RequestStop",
    "Wait",
]


class Fate(enum.Enum):
    """What becomes of an operation on its way to the store and back."""

    DELIVERED = "delivered"
    LOST = "the request is lost"
    UNACKNOWLEDGED = "it arrives, its acknowledgement is lost"


@dataclass(frozen=True)
class Load:
    """Look at the thread and these interrupts; gives `Loaded`."""

    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Commit:
    """Commit a change; gives `Committed` or throws `Conflict`. Retried under one write id.

    Attributes:
        why: which write it is, for the checks.
        owner: the lease token of the run whose owner writes.
        blind: take whatever version is there (only the broken engines do).
    """

    change: Change
    expected: Expected
    write_id: str
    why: str
    owner: str | None = None
    blind: bool = False


@dataclass(frozen=True)
class RequestStop:
    """Write a stop request beside the record."""

    stop: StopRequest


@dataclass(frozen=True)
class Delete:
    """Delete the thread, or throw `Conflict`."""

    expected: Expected


@dataclass(frozen=True)
class Wait:
    """Go on whenever somebody says so: a hint that something may have changed."""


@dataclass(frozen=True)
class Act:
    """The agent's turn; gives an `Action` or a `Pause`."""


class Action(enum.Enum):
    """What an agent's run may do next."""

    EXECUTE = "execute the next approved call, or go on with the next answer"
    FLUSH = "store the results so far"
    RENEW = "renew the lease"
    NOTICE = "look whether a stop was requested"
    FINISH = "end well"
    FAIL = "raise an error"
    UNDELIVERED = "say that nothing reached the framework"


@dataclass(frozen=True)
class AskKind:
    """One question that a pause raises.

    Attributes:
        offers_more: of a tool edits and a text as its result, of a question a decline.
        rule: who may answer.
        sleeps: it is no question but a timer, the only one of its pause; `expires_in` is its time.
    """

    tool: bool = True
    offers_more: bool = False
    expires_in: float | None = None
    rule: ApprovalRule | None = None
    sleeps: bool = False


@dataclass(frozen=True)
class Pause:
    """End with an interrupt that asks these."""

    asks: tuple[AskKind, ...]


@dataclass(frozen=True)
class Leave:
    """Note work that goes on at the framework after the run, or that it has come to its end."""

    work: bool = True


Plan = Action | Pause | Leave
Operation = Load | Commit | RequestStop | Delete | Wait | Act
Process = Generator[Operation, Any, str]
"""A process returns what it told its client at last."""
