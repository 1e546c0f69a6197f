"""The command line: `agui-bridge COMMAND`, one module for each command."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import get_completion_class

from agui_bridge import __version__
from agui_bridge.cli.approvals import audit, channels, grants, inbox
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

PROGRAM = "agui-bridge"
VARIABLE = "_AGUI_BRIDGE_COMPLETE"
"""Click asks for completions by it."""

HELP = """
Agents behind AG-UI: pauses, answers and stops that are durable, checked and executed once.

Begin here

  agui-bridge serve agents:bridge   the variable `bridge` of agents.py
  agui-bridge serve bridge.yaml     what a configuration file describes
  agui-bridge proxy URL             what speaks AG-UI already, made safe
  agui-bridge chat URL              talk to an agent in the terminal
  agui-bridge inbox list URL        what agents ask people, to answer it
  agui-bridge stdio agents:bridge   serve a parent process, over pipes
  agui-bridge check bridge.yaml     what is wrong with it
  agui-bridge conformance -h        how to judge an endpoint by what it does

Every command explains itself: agui-bridge COMMAND --help.
"""


def _version(context: click.Context, _: click.Parameter, shown: bool) -> None:
    if shown:
        click.echo(f"agui-bridge {__version__}")
        context.exit()


def _completion(context: click.Context, _: click.Parameter, shell: str | None) -> None:
    made: Any = get_completion_class(shell) if shell else None
    if made is not None:
        click.echo(made(app, {}, PROGRAM, VARIABLE).source())
        context.exit()


@click.group(
    cls=CommandGroup,
    help=HELP,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.option(
    "--version",
    is_flag=True,
    callback=_version,
    is_eager=True,
    expose_value=False,
    help="Show the version.",
)
@click.option(
    "--show-completion",
    type=click.Choice(["bash", "zsh", "fish"]),
    callback=_completion,
    is_eager=True,
    expose_value=False,
    help="Print what makes a shell complete commands.",
)
def app() -> None:
    """The commands; their help is HELP."""


for _command in (
    serve.serve,
    proxy.proxy,
    chat.chat,
    inbox.inbox,
    stdio.stdio,
    check.check,
    conformance.conformance,
    schema.schema,
    adapters.adapters,
    channels.channels,
    migrate.migrate,
    prune.prune,
    audit.audit,
    grants.grants,
):
    app.add_command(_command)


def main() -> None:
    """Run the command line. What the user can mend is told without a trace, with exit code 2."""
    app(prog_name=PROGRAM)
