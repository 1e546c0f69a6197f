"""The words that checks judge in: whose rule, how grave, what it takes, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NoReturn, TypeAlias, get_args

Profile: TypeAlias = Literal["spec-1.0", "concepts", "draft", "agui-bridge"]
"""Whose rule it is: AG-UI 1.0's specification; its older `concepts/interrupts` page, in places
stricter; the draft of interrupts, whose shapes are others; or this project's contract, where AG-UI
says nothing."""

PROFILES: Final[tuple[Profile, ...]] = get_args(Profile)

Severity: TypeAlias = Literal["must", "should"]
Status: TypeAlias = Literal["pass", "fail", "blocked", "skip"]

Need: TypeAlias = Literal[
    "approval", "parallel", "confirmation", "form", "amid", "falsy", "expiring", "text", "slow",
    "subagents", "frontend", "edits", "executions", "second", "restart", "stop", "foreign",
    "capabilities", "memory", "draft",
]  # fmt: skip
"""What of the configuration a check can't do without."""


class Failed(Exception):
    """The endpoint broke the rule of a check.

    Args:
        seen: what was seen; the message.
        evidence: the events in question, shortened; by default the last requests and answers are.
        expected: what was expected there, if that is more than the check's sentence says.
    """

    def __init__(self, seen: str, evidence: Sequence[str] = (), expected: str = "") -> None:
        super().__init__(seen)
        self.evidence = tuple(evidence)
        self.expected = expected


class Inapplicable(Exception):
    """The endpoint does nothing that the rule speaks of; the message says why."""


class Blocked(Exception):
    """What the check builds on is missing, so that it could not judge."""


def expect(condition: object, seen: str, evidence: Sequence[str] = (), expected: str = "") -> None:
    """Fail the check unless a condition holds.

    Raises:
        Failed: it does not; `seen` is what was seen instead, the rest is as there.
    """
    if not condition:
        raise Failed(seen, evidence, expected)


def fail(seen: str, evidence: Sequence[str] = (), expected: str = "") -> NoReturn:
    """Fail the check; arguments as for `Failed`.

    Raises:
        Failed: always.
    """
    raise Failed(seen, evidence, expected)


def require(condition: object, missing: str) -> None:
    """Block the check unless what it builds on is there.

    Raises:
        Blocked: it is not; `missing` is what was found instead.
    """
    if not condition:
        raise Blocked(missing)
