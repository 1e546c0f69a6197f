"""What a command tells when it fails: one line, its remedy, and no trace unless it is asked for."""

from __future__ import annotations

import sys
import traceback
from difflib import get_close_matches
from inspect import cleandoc
from typing import Any, Final

import click

from agui_bridge.errors import BridgeError, StoreUnavailable
from agui_bridge.import_object import DEBUG_HINT
from agui_bridge.terminal import Terminal, paint
from agui_bridge.text.visible import visible

_DEBUG: Final = "agui_bridge.debug"

_REMEDIES: Final[dict[type[BridgeError], str]] = {
    StoreUnavailable: "Check that the store runs, its address, and who may read and write it.",
}
"""For those whose message does not say it."""


def _remember(context: click.Context, _: click.Parameter, debug: bool) -> None:
    context.meta[_DEBUG] = debug


debug_option = click.option(
    "--debug",
    is_flag=True,
    callback=_remember,
    expose_value=False,
    help="Show the trace of what fails.",
)
"""An option of the commands that run code of the user's."""


class Command(click.Command):
    """A command whose help has the lines of its docstring, as they are."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help's text."""
        formatter.write(f"\n{cleandoc(self.help or '')}\n")

    def get_short_help_str(self, limit: int = 0) -> str:
        """The first line; in a list it is wrapped, not cut."""
        return cleandoc(self.help or "").partition("\n")[0]


class CommandGroup(Command, click.Group):
    """Runs a command, and tells what the user can mend in plain lines, with exit code 2."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which they are looked for, not by their letters."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is named.

        Raises:
            UsageError: there is none of that name; one that is nearly so is named.
        """
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = get_close_matches(args[0], self.list_commands(ctx), 1)
            if near:
                raise click.UsageError(f"{error.message} Did you mean '{near[0]}'?", ctx) from None
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was called.

        Raises:
            click.exceptions.Exit: it failed (2), or was interrupted (130).
        """
        try:
            return super().invoke(ctx)
        except BridgeError as error:
            _tell(error, debug=ctx.meta.get(_DEBUG, False))
            raise click.exceptions.Exit(2) from None
        except KeyboardInterrupt:
            raise click.exceptions.Exit(130) from None


def _tell(error: BridgeError, *, debug: bool) -> None:
    terminal = Terminal(sys.stderr)
    if debug:
        terminal.say(visible("".join(traceback.format_exception(error.__cause__ or error))), end="")
    told = str(error).replace(f" {DEBUG_HINT}", "") if debug else str(error)
    # It may have a server's words.
    first, *rest = visible(told).rstrip().splitlines() or [type(error).__name__]
    terminal.say(f"{paint('error', 'red', 'bold')}: {first}")
    for line in rest:
        terminal.say(line)
    remedy = next((text for kind, text in _REMEDIES.items() if isinstance(error, kind)), None)
    if not rest and remedy is not None:
        terminal.say(remedy)
