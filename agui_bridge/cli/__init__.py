"""The command line: `agui-bridge COMMAND`, one module for each command."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any, Final

import click
from click.shell_completion import get_completion_class

from agui_bridge import __version__
from agui_bridge.cli.later_commands import Later, LaterCommands

PROGRAM = "agui-bridge"
VARIABLE = "_AGUI_BRIDGE_COMPLETE"
"""Click asks for completions by it."""

HELP = """
Agents behind AG-UI: pauses, answers and stops that are durable, checked and executed once.

Begin here

  agui-bridge serve agents:bridge   serve the variable `bridge` of agents.py
  agui-bridge serve bridge.yaml     serve what a configuration file describes
  agui-bridge check bridge.yaml     say what is wrong with it
  agui-bridge chat URL              talk to an agent in the terminal
  agui-bridge inbox list URL        list what agents ask people
  agui-bridge proxy URL             make the questions of an AG-UI endpoint safe

agui-bridge COMMAND --help explains a command.
"""

COMMANDS: Final = {
    "serve": Later("commands.serve", "Serve the agents of a bridge."),
    "proxy": Later(
        "commands.proxy", "Stand in front of an AG-UI endpoint, and make its questions safe."
    ),
    "chat": Later("commands.chat", "Talk to an agent in the terminal."),
    "inbox": Later("approvals.inbox", "Find, show and answer what agents ask people."),
    "stdio": Later(
        "commands.stdio", "Serve the agents of a bridge to the process that started this one."
    ),
    "mcp": Later("commands.mcp", "Serve the agents of a bridge as tools of an MCP client."),
    "acp": Later("commands.acp", "Serve an agent to an editor, by the Agent Client Protocol."),
    "check": Later("commands.check", "Say what is wrong with a bridge, without serving it."),
    "conformance": Later(
        "commands.conformance",
        "Judge an AG-UI endpoint by what it does: pauses, answers, replays, races, stops.",
    ),
    "schema": Later(
        "commands.schema", "Print the JSON Schema of a wire shape or of the configuration file."
    ),
    "adapters": Later(
        "commands.adapters",
        "List the adapters that are installed, and how to install what one lacks.",
    ),
    "channels": Later("approvals.channels", "Try a channel; list or close its notices."),
    "migrate": Later(
        "commands.migrate", "Make a store's tables, or bring them up to this version."
    ),
    "prune": Later(
        "commands.prune", "Delete threads that nobody has touched for long, with all their history."
    ),
    "audit": Later(
        "approvals.audit", "Export or verify what was decided, by whom and through what."
    ),
    "grants": Later(
        "approvals.grants", "List or revoke remembered decisions, for which nobody is asked again."
    ),
}
"""In the order in which they are looked for."""


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
    cls=LaterCommands,
    later=COMMANDS,
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
    help="Print a script that completes commands in the shell.",
)
def app() -> None:
    """The commands; their help is HELP."""


def main() -> None:
    """Run the command line. What the user can mend is told without a trace, with exit code 2."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        # A shell may close one: `agui-bridge … <&-`.
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115  # until the process ends
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        # A character that the locale has not is no reason to fail: agents write what they like.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app(prog_name=PROGRAM)
