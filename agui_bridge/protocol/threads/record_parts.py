"""What a thread's record is made of: timers, the lease's term, the audit chain's head, watches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from agui_bridge.frozen import dataclass, replace
from agui_bridge.protocol.json_values import same_json

# --- work that a run has left with its framework ---
#
# Somebody looks after it, at most one at a time.
#
# The run is over, and its thread does other things. What the work asks later is found by looking.
#
# Source: docs/contract.md, "Work that outlasts its run".

_FIRST: Final = 1.0
_LONGEST: Final = 60.0
_KEPT_FOR: Final = 24 * 60 * 60.0


@dataclass(frozen=True, slots=True)
class Watch:
    """Who has been looking after such work, and when somebody looks next.

    Attributes:
        note: what the adapter needs to find the work, as JSON.
        at: store time (seconds) of the next look.
        until: store time at which nobody looks any more.
        askers: the actors who asked for the run that left it; the first one began it.
        looks: how many there were since the note was written.
    """

    note: Any
    at: float
    until: float
    askers: tuple[str, ...]
    looks: int = 0

    @classmethod
    def after(
        cls, before: Watch | None, note: Any, askers: tuple[str, ...], now: float, *, looked: bool
    ) -> Watch | None:
        """What a run leaves that has ended.

        A note that has not changed is looked after as before. What a look found changes the note,
        and gives nobody more time.

        Args:
            before: what was left before it.
            note: its own; None where nothing is left.
            askers: who asked for the run.
            now: the store's time.
            looked: whether a look began the run.
        """
        if note is None:
            return None
        if before is not None and same_json(before.note, note):
            return before
        until = before.until if looked and before is not None else now + _KEPT_FOR
        return cls(note, now + _FIRST, until, askers)

    def looked(self, now: float) -> Watch | None:
        """The same once somebody looks: the next look comes later. None where it is the last.

        Args:
            now: the store's time.
        """
        if now >= self.until:
            return None
        pause = min(_FIRST * 2.0 ** min(self.looks, 10), _LONGEST)
        return replace(self, at=now + pause, looks=self.looks + 1)


# --- what a thread keeps of its audit chain: the rows, and where the last one is ---
#
# `protocol.audit` makes and judges them.


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The end of a thread's chain, kept in its record.

    Attributes:
        chain: names the chain: a thread that is deleted and made anew begins another.
        seq: number of its last row, from 1.
        mac: of that row.
        batch: the pause whose questions are counted in `sealed`.
        sealed: how many entries of each question's history have a row, by interrupt id.
    """

    chain: str
    seq: int
    mac: str
    batch: str | None = None
    sealed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One row of a chain. It is written once, and outlives its thread.

    Attributes:
        id: its name within the thread; names of one chain sort in its order.
        written_at: store time (seconds) of what it tells.
        data: the row as JSON; docs/audit.md has its members.
    """

    id: str
    written_at: float
    data: str


@dataclass(frozen=True, slots=True)
class Redaction:
    """Words that an agent took back and put others in their place.

    The old ones are needed for the row's digest, and go with the commit: no store keeps them.

    Attributes:
        message: id of the message.
        run: the run that did it, by the id that its client gave it.
        asked_by: the actor who asked for that run.
        at: store time (seconds).
        before: what the message said, see `words_of`.
        after: what it says now.
    """

    message: str
    run: str
    asked_by: str
    at: float
    before: Any
    after: Any


# --- how long a lease holds, also where the store's clock has been set back under it ---


@dataclass(frozen=True, slots=True)
class LeaseTerm:
    """The times of a lease, by the store's clock.

    If the clock was ahead when the lease was given and is right again, the lease ends far ahead.
    Its owner, if alive, renews it by the clock as it is now. So whoever sees such a lease notes
    until when that is waited for: as long as the lease was to hold, from then on.

    Attributes:
        ends_at: when it is over.
        given_at: when it was given, or last renewed; None where an earlier version did.
        doubted_until: it was seen to be given later than now, and unless it is renewed, it is
            over at this time too.
    """

    ends_at: float
    given_at: float | None = None
    doubted_until: float | None = None

    def is_over(self, now: float) -> bool:
        """Whether it holds no more at store time `now`."""
        if self.ends_at <= now:
            return True
        return self._is_ahead(now) and self.doubted_until is not None and self.doubted_until <= now

    def doubt(self, now: float) -> float | None:
        """The `doubted_until` to note at store time `now`, if one is to be noted."""
        if self.given_at is None or not self._is_ahead(now):
            return None
        until = now + (self.ends_at - self.given_at)
        known = self.doubted_until
        return until if known is None or known > until else None

    def _is_ahead(self, now: float) -> bool:
        return self.given_at is not None and now < self.given_at < self.ends_at


@dataclass(frozen=True, slots=True)
class PauseHold:
    """The process that holds a pause: there the agent's side waits for the answers.

    Attributes:
        token: random; begins with the name of the process, see `records.process_of`.
        term: how long it is held, unless that is renewed.
    """

    token: str
    term: LeaseTerm


TIMER: Final = "agui_bridge:timer"
"""The reason of such an interrupt."""

WAKE_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "description": "An empty object wakes the run before its time.",
    "properties": {},
    "additionalProperties": False,
}
"""The response schema of such an interrupt."""
