"""`agui-bridge adapters`."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from agui_bridge.adapters import installed_adapters
from agui_bridge.cli.faults import Command
from agui_bridge.terminal import Terminal, paint


@click.command(cls=Command)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list instead.")
def adapters(as_json: bool) -> None:
    """List the adapters that are installed, and how to install what one lacks.

    An adapter puts a framework behind the bridge; a configuration file names it
    with `adapter:`. Packages of others add theirs through the entry-point group
    `agui_bridge.adapters`.

    Examples:
      agui-bridge adapters
      agui-bridge adapters --json
    """
    found = installed_adapters()
    if as_json:
        click.echo(json.dumps([asdict(adapter) for adapter in found], indent=2))
        return
    rows = [
        (
            adapter.name,
            adapter.package,
            paint("ready", "green") if adapter.missing is None else f"missing: {adapter.missing}",
        )
        for adapter in found
    ]
    Terminal().table(rows, head=("adapter", "package", "state"))
