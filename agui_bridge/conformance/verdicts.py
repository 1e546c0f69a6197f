"""The words that checks judge in: whose rule, how grave, what it takes, and how it ended."""

from __future__ import annotations

from typing import Final, Literal, NoReturn, TypeAlias, get_args

__all__ = [
    "PROFILES",
    "Blocked",
    "Failed",
    "Need",
    "Profile",
    "Severity",
    "Status",
    "expect",
    "fail",
    "require",
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


class Failed(Exception):
    """The endpoint broke the rule of a check; the message says what was seen."""


class Blocked(Exception):
    """What the check builds on is missing, so that it could not judge."""


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


def require(condition: object, missing: str) -> None:
    """Block the check unless what it builds on is there.

    Raises:
        Blocked: it is not; `missing` is what was found instead.
    """
    if not condition:
        raise Blocked(missing)
