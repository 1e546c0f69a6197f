"""The report for people: a table in the terminal."""

from __future__ import annotations

from collections import Counter
from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agui_bridge.conformance.check import Result
from agui_bridge.conformance.runner import Report
from agui_bridge.conformance.verdicts import Status

__all__ = ["MARKS", "print_report", "tally"]

MARKS: Final[dict[Status, str]] = {
    "pass": "[green]pass[/]",
    "fail": "[bold red]FAIL[/]",
    "blocked": "[yellow]blocked[/]",
    "skip": "[dim]skip[/]",
}


def print_report(report: Report, console: Console, *, verbose: bool = False) -> None:
    """Print every check, then what failed, why, and what to do about it.

    Args:
        report: of one endpoint.
        console: where to.
        verbose: whether skipped checks have a row too, with the reason.
    """
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("check", no_wrap=True)
    table.add_column("")
    table.add_column("promise", overflow="fold")
    for result in report.results:
        if result.status != "skip" or verbose:
            # What was not judged: why not is what one asks.
            told = result.detail if result.status == "skip" else result.check.sentence
            table.add_row(result.check.id, _mark(result), escape(told))
    console.print(table)
    for result in report.results:
        if result.status in ("fail", "blocked"):
            _print_failure(result, console)
    skipped = any(result.status == "skip" for result in report.results)
    why = " (--verbose says why)" if skipped and not verbose else ""
    console.print(f"\n{escape(report.name)}: {tally(report)}{why}")


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
        return "[yellow]fail[/]"
    return MARKS[result.status]


def _print_failure(result: Result, console: Console) -> None:
    check = result.check
    console.print(f"\n{_mark(result)} [bold]{check.id}[/] ({check.severity}, {check.profile})")
    console.print(f"  seen    {escape(result.detail)}", soft_wrap=True)
    if result.status == "blocked":
        return  # It is not known that the endpoint has anything to mend here.
    console.print(f"  source  {escape(check.source)}", soft_wrap=True)
    console.print(f"  fix     {escape(check.fix)}", soft_wrap=True)
