"""What a check is, how it ends, and the table of all of them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from agui_bridge.conformance.lab import Lab
from agui_bridge.conformance.verdicts import Need, Profile, Severity, Status

Kind: TypeAlias = Literal[
    "passed", "failed", "should_failed", "blocked", "should_blocked", "skipped"
]
"""How a check ended; `failed` and `blocked` are of those that must pass."""

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

Body: TypeAlias = Callable[[Lab], Awaitable[str | None]]


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
        run: raises Failed, Blocked or Inapplicable, or returns; with a note if there is something
            to say though the promise is kept.
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
        expected: what was expected instead of what was seen; empty where that is the sentence.
        evidence: of what failed or was blocked: the events or requests in question, shortened.
        notes: on what passed: what the rule allows and clients may stumble over.
    """

    check: Check
    status: Status
    detail: str = ""
    seconds: float = 0.0
    expected: str = ""
    evidence: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        """How it ended, with what only should pass apart: such a failure fails no run."""
        if self.status == "skip":
            return "skipped"
        if self.status == "pass":
            return "passed"
        lenient = self.check.severity == "should"
        if self.status == "fail":
            return "should_failed" if lenient else "failed"
        return "should_blocked" if lenient else "blocked"


class Table:
    """The checks of one group, in the order in which they are written.

    Args:
        group: what stands before the dot in their ids.
        source: of those that name none of their own.
        needs: of those that name none of their own.
    """

    def __init__(self, group: str, *, source: str = "", needs: tuple[Need, ...] = ()) -> None:
        self.group = group
        self.checks: list[Check] = []
        self._source = source
        self._needs = needs

    def check(
        self,
        *,
        fix: str,
        source: str = "",
        needs: tuple[Need, ...] | None = None,
        severity: Severity = "must",
        profile: Profile = "spec-1.0",
        alone: bool = False,
    ) -> Callable[[Body], Body]:
        """Add a function as a check; see `Check` for the arguments.

        Its name, with dashes, is that of the check; its docstring is the sentence.
        """
        source = source or self._source
        needed = self._needs if needs is None else needs

        def add(run: Body) -> Body:
            id = f"{self.group}.{run.__name__.replace('_', '-')}"
            sentence = " ".join((inspect.getdoc(run) or "").split())
            check = Check(id, sentence, source, fix, severity, profile, needed, alone, run)
            self.checks.append(check)
            return run

        return add
