"""`agui-bridge conformance`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from agui_bridge.cli.faults import Command
from agui_bridge.conformance import CHECKS, Config, Report, load, run_suite
from agui_bridge.conformance.check import Result
from agui_bridge.conformance.reports import (
    MARKS,
    as_badge,
    as_markdown,
    check_names,
    print_report,
    write_reports,
    write_text,
)
from agui_bridge.conformance.runner import choose
from agui_bridge.terminal import Progress, Terminal, paint


@click.command(cls=Command)
@click.argument("url", default="")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    multiple=True,
    help="TOML file: how to make the agent pause, and more. Give several to compare endpoints.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="ID",
    help="Run the checks whose id begins so; may be repeated.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Write a report; its ending says which: .json, .xml, .md. May be repeated.",
)
@click.option(
    "--matrix",
    type=click.Path(path_type=Path),
    help="Write a Markdown table: a row for each check, a column for each endpoint.",
)
@click.option(
    "--badge",
    type=click.Path(path_type=Path),
    help="Write an SVG badge: how many checks passed, of those that apply.",
)
@click.option("--strict", is_flag=True, help="End with exit code 1 if a `should` fails, too.")
@click.option(
    "--verbose", "-v", is_flag=True, help="Tell each check as it ends, and why others are skipped."
)
@click.option("--list", "list_checks", is_flag=True, help="List the checks, and end.")
def conformance(
    url: str,
    config: tuple[Path, ...],
    only: tuple[str, ...],
    output: tuple[Path, ...],
    matrix: Path | None,
    badge: Path | None,
    strict: bool,
    verbose: bool,
    list_checks: bool,
) -> None:
    """Judge an AG-UI endpoint by what it does: pauses, answers, replays, races, stops.

    URL is the endpoint; by default the one that the configuration names or starts.

    The exit code is 0 when every check that must pass did, 1 when one did not,
    2 when there was nothing to judge: a wrong configuration, or no server.

    Examples:
      agui-bridge conformance http://127.0.0.1:8787/agents/ops --config my.toml
      agui-bridge conformance --config a.toml --config b.toml --matrix matrix.md
      agui-bridge conformance --config a.toml --output report.xml --badge badge.svg

    The shortest file, in TOML:

      prompts = { approval = "what makes the agent ask {marker}" }
    """
    # The checks take a while to import, and only this command needs them.
    from agui_bridge.cli.commands.conformance import Judging, show_checks

    terminal = Terminal()
    if list_checks:
        show_checks(terminal)
        return
    if not config:
        raise click.BadParameter(
            "give a TOML file that says how to make the agent pause. --help shows one.",
            param_hint="--config",
        )
    if url and len(config) > 1:
        raise click.BadParameter(
            "there are one URL and several --config. Leave the URL out, and write url in each file."
        )
    if badge is not None and len(config) > 1:
        raise click.BadParameter("a badge is of one endpoint: give one file.", param_hint="--badge")
    judging = Judging(url, config, only, verbose=verbose)
    if not judging.passed(terminal, output, matrix=matrix, badge=badge, strict=strict):
        raise click.exceptions.Exit(1)


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
