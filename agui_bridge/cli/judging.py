"""Judging endpoints, and telling what was found."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agui_bridge.cli.progress import Progress
from agui_bridge.conformance import CHECKS, Config, Report, load, run_suite
from agui_bridge.conformance.check import Result
from agui_bridge.conformance.reports import (
    as_badge,
    as_markdown,
    check_names,
    write_reports,
    write_text,
)
from agui_bridge.conformance.reports.terminal import MARKS, print_report
from agui_bridge.conformance.runner import choose
from agui_bridge.terminal import Terminal, paint

__all__ = ["Judging", "show_checks"]


def show_checks(terminal: Terminal) -> None:
    """List every check."""
    for check in CHECKS:
        kind = paint(f"{check.severity}, {check.profile}", "dim")
        terminal.say(f"{check.id}  {kind}  {check.sentence}")


@dataclass(frozen=True)
class Judging:
    """What is judged.

    Attributes:
        url: of the endpoint; empty for those that the configurations name.
        config: TOML files, one for each endpoint.
        only: how the ids of the checks begin; empty for all.
        verbose: whether each check is told of as it ends, and why one is skipped.
    """

    url: str
    config: Sequence[Path]
    only: tuple[str, ...]
    verbose: bool

    def passed(
        self,
        terminal: Terminal,
        output: Sequence[Path],
        *,
        matrix: Path | None,
        badge: Path | None,
        strict: bool,
    ) -> bool:
        """Judge, tell, and write; says whether every check that must pass did.

        Args:
            terminal: what is found is told there.
            output: files of reports.
            matrix: the file of the table, if one is wanted.
            badge: the file of the badge, if one is wanted.
            strict: whether a `should` must pass too.

        Raises:
            ConfigurationError: a configuration is wrong, or a file has an unknown ending.
        """
        check_names(output, [path for path in (matrix, badge) if path is not None])
        reports = asyncio.run(self._run_all([load(path) for path in self.config]))
        for report in reports:
            print_report(report, terminal, verbose=self.verbose)
        write_reports(reports, output)
        if matrix is not None:
            write_text(matrix, as_markdown(reports))
        if badge is not None:
            write_text(badge, as_badge(reports[0]))
        return not any(report.failures(strict=strict) for report in reports)

    async def _run_all(self, configs: Sequence[Config]) -> list[Report]:
        whole, over, failed = len(choose(self.only)) * len(configs), 0, 0

        def told(result: Result) -> None:
            nonlocal over, failed
            over += 1
            failed += result.status in ("fail", "blocked")
            if self.verbose:
                progress.say(f"{MARKS[result.status]} {result.check.id} {result.seconds:.1f} s")
            else:
                progress.tell(f"{over} of {whole} checks, {failed} failed: {result.check.id} …")

        with Progress() as progress:
            return [await run_suite(one, self.url, only=self.only, told=told) for one in configs]
