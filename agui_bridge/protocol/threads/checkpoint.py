"""Where a run stands that may go on in another process: kept in its thread's record while it runs.

The owner of such a run stores each act before it begins, and its result before the next one begins.
So whoever finds the run lost knows what may go on: everything, unless an act has begun, has no
result, and must not begin again.

Source: docs/contract.md, "Checkpoints".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agui_bridge.frozen import dataclass, replace

MOST_ATTEMPTS: Final = 3
"""Takeovers of a run without a stored result in between; then it fails."""

KEPT_FOR: Final = 30 * 86_400.0
"""Seconds for which a lost run waits for a process that can take it up; then it is given up."""

_FIRST_PAUSE: Final = 2.0
_MOST_TOKENS: Final = 20


@dataclass(frozen=True, slots=True)
class BegunAct:
    """An act of a run that has begun, and has no result yet.

    Attributes:
        name: for people, such as `run.step('charge')`.
        digest: of the arguments that it was begun with.
        key: its own; an act that begins again has the same.
        idempotent: whether its author says that it may begin again.
    """

    name: str
    digest: str
    key: str
    idempotent: bool = False


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a run stands.

    Attributes:
        input: its input as JSON, without messages and state, which the thread has.
        roles: those of whoever sent it.
        brought: ids of the messages that are new to its agent.
        silent: whether it begins with nothing that anybody says.
        standing: what its adapter goes on from, as JSON. None: from where its claim did.
        begun: the acts that have begun, and have no result yet.
        attempts: how often it was taken up since the last result was stored.
        not_before: store time before which it is not taken up again.
        tokens: of the leases that it had before: a stop that names one is meant for it.
    """

    input: Mapping[str, Any]
    roles: tuple[str, ...] = ()
    brought: tuple[str, ...] = ()
    silent: bool = False
    standing: Any = None
    begun: tuple[BegunAct, ...] = ()
    attempts: int = 0
    not_before: float = 0.0
    tokens: tuple[str, ...] = ()

    @property
    def may_go_on(self) -> bool:
        """Whether all that has begun has a result, or may begin again."""
        return all(act.idempotent for act in self.begun)

    @property
    def is_given_up(self) -> bool:
        """Whether it was taken up as often as may be, and came to no result."""
        return self.attempts >= MOST_ATTEMPTS

    def reached(
        self, standing: Any, begun: tuple[BegunAct, ...], *, has_result: bool
    ) -> Checkpoint:
        """The same once its owner has come further.

        Args:
            standing: what its adapter goes on from now.
            begun: the acts without a result.
            has_result: whether an act has come to its result: all attempts are forgotten.
        """
        attempts = 0 if has_result else self.attempts
        return replace(self, standing=standing, begun=begun, attempts=attempts)

    def taken_up(self, token: str, now: float, lease_seconds: float) -> Checkpoint:
        """The same once somebody takes it up: the next attempt, if there is one, comes later.

        Args:
            token: of the lease that is over.
            now: the store's time.
            lease_seconds: how long the new lease is.
        """
        pause = _FIRST_PAUSE * 2.0**self.attempts
        return replace(
            self,
            attempts=self.attempts + 1,
            not_before=now + lease_seconds + pause,
            tokens=(*self.tokens, token)[-_MOST_TOKENS:],
        )
