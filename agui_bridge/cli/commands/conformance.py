"""`agui-bridge conformance`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from agui_bridge.cli.faults import Command
from agui_bridge.conformance import CHECKS, Config, Report, load, run_suite
from agui_bridge.conformance.check import Result
from agui_bridge.conformance.reports import (
    FORMATS,
    as_badge,
    as_markdown,
    check_names,
    write_reports,
    write_text,
)
from agui_bridge.conformance.reports.terminal import MARKS, print_report
from agui_bridge.terminal import Terminal, paint

__all__ = ["conformance"]


@click.command(cls=Command)
@click.argument("url", default="")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    multiple=True,
    help="TOML file: how to make the agent pause, and more. Several are set side by side.",
)
@click.option(
    "--only", multiple=True, metavar="ID", help="Run checks whose id begins so; repeatable."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    multiple=True,
    help=f"Write a report; its ending says which: {', '.join(FORMATS)}. Repeatable.",
)
@click.option(
    "--matrix",
    type=click.Path(path_type=Path),
    help="Write a Markdown table: a row a check, a column an endpoint.",
)
@click.option(
    "--badge",
    type=click.Path(path_type=Path),
    help="Write an SVG badge: how many checks passed, of those that apply.",
)
@click.option("--strict", is_flag=True, help="A `should` that fails fails the run too.")
@click.option("--verbose", "-v", is_flag=True, help="Tell each as it ends, and why one is skipped.")
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

    The least that the file holds, in TOML:

      prompts = { approval = "what makes the agent ask {marker}" }
    """
    terminal = Terminal()
    if list_checks:
        for check in CHECKS:
            kind = paint(f"{check.severity}, {check.profile}", "dim")
            terminal.say(f"{check.id}  {kind}  {check.sentence}")
        return
    if not config:
        raise click.BadParameter(
            "name a TOML file that says how to make the agent pause: see --help.",
            param_hint="--config",
        )
    if url and len(config) > 1:
        raise click.BadParameter("one URL and several files: write url in each file.")
    if badge is not None and len(config) > 1:
        raise click.BadParameter("a badge is of one endpoint: give one file.", param_hint="--badge")
    check_names(output, [path for path in (matrix, badge) if path is not None])
    reports = asyncio.run(_run_all([load(path) for path in config], url, only, verbose))
    for report in reports:
        print_report(report, terminal, verbose=verbose)
    write_reports(reports, output)
    if matrix is not None:
        write_text(matrix, as_markdown(reports))
    if badge is not None:
        write_text(badge, as_badge(reports[0]))
    if any(report.failures(strict=strict) for report in reports):
        raise click.exceptions.Exit(1)


async def _run_all(
    configs: list[Config], url: str, only: tuple[str, ...], verbose: bool
) -> list[Report]:
    progress = Terminal(sys.stderr)

    def told(result: Result) -> None:
        if verbose:
            progress.say(f"{MARKS[result.status]} {result.check.id} {result.seconds:.1f} s")

    return [await run_suite(config, url, only=only, told=told) for config in configs]
