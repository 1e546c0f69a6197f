"""How long a lease holds, also where the store's clock has been set back under it."""

from __future__ import annotations

from agui_bridge.frozen import dataclass

__all__ = ["LeaseTerm"]


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
