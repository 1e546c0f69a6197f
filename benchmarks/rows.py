"""What a benchmark reports: one row for each claim, with its budget."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


class BenchmarkBroken(Exception):
    """A contender does not do what it is measured for: its numbers would mean nothing."""


@dataclass(frozen=True)
class Row:
    """One measured claim.

    Attributes:
        name: `scenario/row`, by which it is selected.
        what: what was measured, for people.
        unit: `×` for a ratio, else the unit of the samples.
        samples: one number for each round.
        at_least: the budget, if more is better.
        at_most: the budget, if less is better.
    """

    name: str
    what: str
    unit: str
    samples: tuple[float, ...]
    at_least: float | None = None
    at_most: float | None = None

    @property
    def median(self) -> float:
        """The number that is compared with the budget."""
        return statistics.median(self.samples)

    @property
    def within(self) -> bool | None:
        """Whether the budget is kept; None when there is none."""
        if self.at_least is not None:
            return self.median >= self.at_least
        if self.at_most is not None:
            return self.median <= self.at_most
        return None


def ratio(
    name: str,
    what: str,
    samples: Mapping[str, Sequence[float]],
    over: str,
    under: str,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Row:
    """The row of `over / under`, round by round: both were measured in each of them."""
    pairs = zip(samples[over], samples[under], strict=True)
    return Row(name, what, "×", tuple(a / b for a, b in pairs), at_least, at_most)
