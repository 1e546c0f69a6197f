"""The command line: `agui-bridge COMMAND`, one module for each command."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from agui_bridge import __version__
from agui_bridge.cli.commands import (
    adapters,
    chat,
    check,
    conformance,
    migrate,
    proxy,
    prune,
    schema,
    serve,
    stdio,
)
from agui_bridge.cli.faults import CommandGroup

__all__ = ["app", "main"]

HELP = """
Agents behind AG-UI: pauses, answers and stops that are durable, checked and executed once.

[bold]Begin here[/]

  agui-bridge serve agents:bridge   [dim]the variable `bridge` of agents.py[/]
  agui-bridge serve bridge.yaml     [dim]what a configuration file describes[/]
  agui-bridge proxy URL             [dim]what speaks AG-UI already, made safe[/]
  agui-bridge chat URL              [dim]talk to an agent in the terminal[/]
  agui-bridge stdio agents:bridge   [dim]serve a parent process, over pipes[/]
  agui-bridge check bridge.yaml     [dim]what is wrong with it[/]
  agui-bridge conformance -h        [dim]how to judge an endpoint by what it does[/]

Every command explains itself: agui-bridge COMMAND --help.
"""

app: Final = typer.Typer(
    cls=CommandGroup,
    help=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("serve")(serve.serve)
app.command("proxy")(proxy.proxy)
app.command("chat")(chat.chat)
app.command("stdio")(stdio.stdio)
app.command("check")(check.check)
app.command("conformance")(conformance.conformance)
app.command("schema")(schema.schema)
app.command("adapters")(adapters.adapters)
app.command("migrate")(migrate.migrate)
app.command("prune")(prune.prune)


def _version(shown: bool) -> None:
    if shown:
        typer.echo(f"agui-bridge {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. What the user can mend is told without a trace, with exit code 2."""
    app(prog_name="agui-bridge")
