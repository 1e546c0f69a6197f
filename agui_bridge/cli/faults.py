"""What a command tells when it fails: one line, its remedy, and no trace unless it is asked for."""

from __future__ import annotations

import traceback
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

from agui_bridge.config.import_object import DEBUG_HINT
from agui_bridge.errors import BridgeError, StoreUnavailable

__all__ = ["CommandGroup", "Debug"]

_DEBUG: Final = "agui_bridge.debug"

_REMEDIES: Final[dict[type[BridgeError], str]] = {
    StoreUnavailable: "Check that the store runs, its address, and who may read and write it.",
}
"""For those whose message does not say it."""


def _remember(context: typer.Context, debug: bool) -> bool:
    context.meta[_DEBUG] = debug
    return debug


Debug = Annotated[
    bool,
    typer.Option("--debug", callback=_remember, help="Show the trace of what fails."),
]
"""An option of the commands that run code of the user's."""


class CommandGroup(TyperGroup):
    """Runs a command, and tells what the user can mend in plain lines, with exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was called.

        Raises:
            typer.Exit: it failed (2), or was interrupted (130).
        """
        try:
            return super().invoke(ctx)
        except BridgeError as error:
            _tell(error, debug=ctx.meta.get(_DEBUG, False))
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            raise typer.Exit(130) from None


def _tell(error: BridgeError, *, debug: bool) -> None:
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    if debug:
        trace = "".join(traceback.format_exception(error.__cause__ or error))
        console.print(trace, markup=False, end="")
    told = str(error).replace(f" {DEBUG_HINT}", "") if debug else str(error)
    first, *rest = told.rstrip().splitlines() or [type(error).__name__]
    console.print(f"[bold red]error[/]: {escape(first)}")
    for line in rest:
        console.print(escape(line))
    remedy = next((text for kind, text in _REMEDIES.items() if isinstance(error, kind)), None)
    if not rest and remedy is not None:
        console.print(remedy)
