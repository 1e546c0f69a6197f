"""The report for people: a table in the terminal."""

from __future__ import annotations

from collections import Counter
from typing import Final

from agui_bridge.conformance.check import Result
from agui_bridge.conformance.reports.failures import told_lines
from agui_bridge.conformance.runner import Report
from agui_bridge.conformance.verdicts import Status
from agui_bridge.terminal import Terminal, paint

__all__ = ["MARKS", "print_report", "tally"]

MARKS: Final[dict[Status, str]] = {
    "pass": paint("pass", "green"),
    "fail": paint("FAIL", "red", "bold"),
    "blocked": paint("blocked", "yellow"),
    "skip": paint("skip", "dim"),
}


def print_report(report: Report, terminal: Terminal, *, verbose: bool = False) -> None:
    """Print every check, then what failed, why, and what to do about it.

    Args:
        report: of one endpoint.
        terminal: where to.
        verbose: whether skipped checks have a row too, with the reason.
    """
    rows = []
    for result in report.results:
        if result.status != "skip" or verbose:
            # What was not judged: why not is what one asks.
            told = result.detail if result.status == "skip" else result.check.sentence
            rows.append((result.check.id, _mark(result), told))
    terminal.table(rows, head=("check", "", "promise"))
    for result in report.results:
        if result.status in ("fail", "blocked"):
            _print_failure(result, terminal)
    noted = [(result.check.id, note) for result in report.results for note in result.notes]
    for heading, lines in (
        ("notes on what passed", [f"{id}: {note}" for id, note in noted]),
        ("found out", report.found),
    ):
        if lines:
            terminal.say(f"\n{paint(heading, 'bold')}")
            for line in lines:
                terminal.say(f"  {line}")
    skipped = any(result.status == "skip" for result in report.results)
    why = " (--verbose says why)" if skipped and not verbose else ""
    terminal.say(f"\n{report.name}: {tally(report)}{why}")


def tally(report: Report) -> str:
    """How many checks passed, failed, were blocked or skipped."""
    counts = Counter(result.status for result in report.results)
    words: dict[Status, str] = {
        "pass": "passed",
        "fail": "failed",
        "blocked": "blocked",
        "skip": "skipped",
    }
    return ", ".join(f"{counts[status]} {word}" for status, word in words.items() if counts[status])


def _mark(result: Result) -> str:
    if result.status == "fail" and result.check.severity == "should":
        return paint("fail", "yellow")
    return MARKS[result.status]


def _print_failure(result: Result, terminal: Terminal) -> None:
    check = result.check
    terminal.say(f"\n{_mark(result)} {paint(check.id, 'bold')} ({check.severity}, {check.profile})")
    for line in told_lines(result):
        terminal.say(f"  {line}")
