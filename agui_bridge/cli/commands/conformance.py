"""`agui-bridge conformance`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from agui_bridge.cli.output import output as stdout
from agui_bridge.conformance import CHECKS, Config, Report, load, run_suite
from agui_bridge.conformance.check import Result
from agui_bridge.conformance.reports import FORMATS, check_names, write_reports
from agui_bridge.conformance.terminal import MARKS, print_report

__all__ = ["conformance"]


def conformance(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="The endpoint; by default the one that the configuration names or starts.",
            show_default=False,
        ),
    ] = "",
    config: Annotated[
        list[Path] | None,
        typer.Option(
            help="TOML file: how to make the agent pause, and more. Several are set side by side.",
            show_default=False,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID", help="Run checks whose id begins so; repeatable.", show_default=False
        ),
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            help=f"Write a report; its ending says which: {', '.join(FORMATS)}. Repeatable.",
            show_default=False,
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="A `should` that fails fails the run too.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Tell each as it ends, and why one is skipped.")
    ] = False,
    list_checks: Annotated[bool, typer.Option("--list", help="List the checks, and end.")] = False,
) -> None:
    """Judge an AG-UI endpoint by what it does: pauses, answers, replays, races, stops.

    The exit code is 0 when every check that must pass did, 1 when one did not,
    2 when there was nothing to judge: a wrong configuration, or no server.

    [bold]Examples[/]

      agui-bridge conformance http://127.0.0.1:8787/agents/ops --config my.toml
      agui-bridge conformance --config a.toml --config b.toml --output matrix.md

    The least that the file holds, in TOML:

      prompts = { approval = "what makes the agent ask {marker}" }
    """
    console = stdout()
    if list_checks:
        for check in CHECKS:
            line = f"{check.id}  [dim]{check.severity}, {check.profile}[/]  "
            console.print(line + escape(check.sentence), soft_wrap=True)
        return
    if not config:
        raise typer.BadParameter(
            "name a TOML file that says how to make the agent pause: see --help.",
            param_hint="--config",
        )
    if url and len(config) > 1:
        raise typer.BadParameter("one URL and several files: write url in each file.")
    check_names(output or ())
    reports = asyncio.run(_run_all([load(path) for path in config], url, only or (), verbose))
    for report in reports:
        print_report(report, console, verbose=verbose)
    write_reports(reports, output or ())
    if any(report.failures(strict=strict) for report in reports):
        raise typer.Exit(1)


async def _run_all(
    configs: list[Config], url: str, only: tuple[str, ...] | list[str], verbose: bool
) -> list[Report]:
    progress = Console(stderr=True, highlight=False)

    def told(result: Result) -> None:
        if verbose:
            progress.print(f"{MARKS[result.status]} {result.check.id} {result.seconds:.1f} s")

    return [await run_suite(config, url, only=only, told=told) for config in configs]
