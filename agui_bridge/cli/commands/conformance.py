"""`agui-bridge conformance`."""

from __future__ import annotations

from pathlib import Path

import click

from agui_bridge.cli.faults import Command
from agui_bridge.terminal import Terminal

__all__ = ["conformance"]


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
    from agui_bridge.cli.judging import Judging, show_checks

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
