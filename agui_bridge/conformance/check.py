"""What a check is, how it ends, and the table of all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NoReturn, TypeAlias, get_args

if TYPE_CHECKING:
    from agui_bridge.conformance.lab import Lab

__all__ = [
    "PROFILES",
    "Blocked",
    "Check",
    "Failed",
    "Need",
    "Profile",
    "Result",
    "Severity",
    "Status",
    "Table",
    "expect",
    "fail",
]

Profile: TypeAlias = Literal["spec-1.0", "concepts", "draft"]
"""Whose rule it is: AG-UI 1.0's specification; its older `concepts/interrupts` page, in places
stricter; or the draft of interrupts, whose shapes are others."""

PROFILES: Final[tuple[Profile, ...]] = get_args(Profile)

Severity: TypeAlias = Literal["must", "should"]
Status: TypeAlias = Literal["pass", "fail", "blocked", "skip"]

Need: TypeAlias = Literal[
    "approval", "parallel", "form", "falsy", "expiring", "text", "slow", "subagents", "frontend",
    "edits", "executions", "second", "restart", "stop", "foreign", "capabilities", "memory",
    "draft",
]  # fmt: skip
"""What of the configuration a check can't do without."""

Body: TypeAlias = Callable[["Lab"], Awaitable[None]]


class Failed(Exception):
    """The endpoint broke the rule of a check; the message says what was seen."""


class Blocked(Exception):
    """What the check builds on is missing, so that it could not judge."""


@dataclass(frozen=True, slots=True)
class Check:
    """One promise, and how to find out whether an endpoint keeps it.

    Attributes:
        id: stable, `group.name`.
        sentence: the promise.
        source: where it is made: page and section.
        fix: what to do about a failure.
        severity: `must`, or `should`, which fails a run only when it is strict.
        profile: whose rule it is.
        needs: what the configuration must have, else the check is skipped.
        alone: whether it disturbs others, as a restart does.
        run: raises Failed or Blocked, or returns.
    """

    id: str
    sentence: str
    source: str
    fix: str
    severity: Severity
    profile: Profile
    needs: tuple[Need, ...]
    alone: bool
    run: Body


@dataclass(frozen=True, slots=True)
class Result:
    """How one check ended on one endpoint.

    Attributes:
        check: which one.
        status: `pass`, `fail`, `skip` or `blocked`.
        detail: what was seen, or why the check was skipped or blocked; empty for a pass.
        seconds: how long it took.
    """

    check: Check
    status: Status
    detail: str = ""
    seconds: float = 0.0


class Table:
    """The checks of one group, in the order in which they are written."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.checks: list[Check] = []

    def check(
        self,
        name: str,
        sentence: str,
        *,
        source: str,
        fix: str,
        needs: tuple[Need, ...] = (),
        severity: Severity = "must",
        profile: Profile = "spec-1.0",
        alone: bool = False,
    ) -> Callable[[Body], Body]:
        """Add a function as a check; see `Check` for the arguments."""

        def add(run: Body) -> Body:
            self.checks.append(
                Check(
                    f"{self.group}.{name}", sentence, source, fix, severity, profile, needs, alone,
                    run,
                )
            )  # fmt: skip
            return run

        return add


def expect(condition: object, seen: str) -> None:
    """Fail the check unless a condition holds.

    Raises:
        Failed: it does not; `seen` is what was seen instead.
    """
    if not condition:
        raise Failed(seen)


def fail(seen: str) -> NoReturn:
    """Fail the check.

    Raises:
        Failed: always.
    """
    raise Failed(seen)
