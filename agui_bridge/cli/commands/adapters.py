"""`agui-bridge adapters`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from agui_bridge.adapters import installed_adapters
from agui_bridge.cli.output import output

__all__ = ["adapters"]


def adapters(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list instead.")] = False,
) -> None:
    """List the adapters that are installed, and how to install what one lacks.

    An adapter puts a framework behind the bridge; a configuration file names it
    with `adapter:`. Packages of others add theirs through the entry-point group
    `agui_bridge.adapters`.

    [bold]Examples[/]

      agui-bridge adapters
      agui-bridge adapters --json
    """
    found = installed_adapters()
    if as_json:
        typer.echo(json.dumps([asdict(adapter) for adapter in found], indent=2))
        return
    table = Table("adapter", "package", "state", box=None, pad_edge=False)
    for adapter in found:
        ready = adapter.missing is None
        state = "[green]ready[/]" if ready else f"missing: {escape(str(adapter.missing))}"
        table.add_row(escape(adapter.name), escape(adapter.package), state)
    output().print(table)
