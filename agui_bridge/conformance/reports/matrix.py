"""Endpoints side by side, as a page in Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from agui_bridge.conformance.check import Check, Result
from agui_bridge.conformance.runner import Report
from agui_bridge.conformance.verdicts import Status

__all__ = ["as_markdown"]

_SHORT: Final[Mapping[Status, str]] = {"pass": "P", "fail": "F", "blocked": "B", "skip": "-"}


def as_markdown(reports: Sequence[Report]) -> str:
    """A row a check, a column an endpoint; below, what failed and why.

    P is passed, F failed, B blocked (it could not be judged), - not applicable; a lower-case f
    is a `should` that failed. The last row counts what passed of what applies.
    """
    checks: dict[str, Check] = {r.check.id: r.check for report in reports for r in report.results}
    found = [{result.check.id: result for result in report.results} for report in reports]
    lines = [
        f"| check | promise | {' | '.join(_cell(report.name) for report in reports)} |",
        f"|---|---|{'---|' * len(reports)}",
    ]
    for check in checks.values():
        marks = [_short(results.get(check.id)) for results in found]
        lines.append(f"| `{check.id}` | {_cell(check.sentence)} | {' | '.join(marks)} |")
    sums = [f"{report.passed} of {report.applicable}" for report in reports]
    lines.append(f"| **passed** | of what applies | {' | '.join(sums)} |")
    for report in reports:
        failed = [result for result in report.results if result.status in ("fail", "blocked")]
        noted = [(result, note) for result in report.results for note in result.notes]
        if failed or noted or report.found:
            lines += ["", f"**{_cell(report.name)}**", ""]
            lines += [f"- `{result.check.id}`: {_cell(result.detail)}" for result in failed]
            lines += [
                f"- `{result.check.id}` passed, with a note: {_cell(n)}" for result, n in noted
            ]
            lines += [f"- found out: {_cell(found)}" for found in report.found]
    return "\n".join(lines) + "\n"


def _short(result: Result | None) -> str:
    if result is None:
        return ""
    mark = _SHORT[result.status]
    return mark.lower() if result.check.severity == "should" and mark in "FB" else mark


def _cell(text: str) -> str:
    return re.sub(r"[\r\n]+", " ", text).replace("|", "\\|")
