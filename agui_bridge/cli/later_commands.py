"""Commands that are imported when they are called: the help of the program needs none of them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import click

from agui_bridge.cli.faults import CommandGroup


class Later(NamedTuple):
    """A command that is not imported yet.

    Attributes:
        home: the module below `agui_bridge.cli` that has it, by the command's own name.
        summary: what the list of commands says of it: the first line of its help.
    """

    home: str
    summary: str


class LaterCommands(CommandGroup):
    """A group of such commands.

    Args:
        later: its commands by name, in the order of its help.
        **options: what click's groups take.
    """

    def __init__(self, later: Mapping[str, Later], **options: Any) -> None:
        super().__init__(**options)
        self.later = later

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order of the table."""
        return list(self.later)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command, imported; None where there is none of that name."""
        if cmd_name not in self.later:
            return None
        command: click.Command = getattr(
            import_module(f"agui_bridge.cli.{self.later[cmd_name].home}"), cmd_name
        )
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of the commands, from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, later.summary) for name, later in self.later.items()])
