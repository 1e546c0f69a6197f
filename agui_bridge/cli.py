"""The command line: `agui-bridge serve | migrate | adapters`."""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agui_bridge import __version__
from agui_bridge.adapters import installed_adapters
from agui_bridge.errors import BridgeError, ConfigurationError
from agui_bridge.http.app import Bridge
from agui_bridge.stores.open import open_store

__all__ = ["main"]

app = typer.Typer(
    help="Agents behind AG-UI: pauses, answers and stops that are durable and executed once.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


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


@app.command()
def serve(
    target: Annotated[str, typer.Argument(help="The bridge to serve, as module:variable.")],
    host: Annotated[str, typer.Option(help="Address to bind to.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to bind to.")] = 8787,
) -> None:
    """Serve a bridge that a module of yours defines.

    [dim]agui-bridge serve agents:bridge --port 8787[/dim]
    """
    from agui_bridge.http import server

    server.serve(load_bridge(target), host, port)


@app.command()
def migrate(
    store: Annotated[str, typer.Option(help="Store URL, such as sqlite:///agents.db.")],
) -> None:
    """Bring a store's tables up to this version, or make them."""

    async def run() -> None:
        await (await open_store(store)).aclose()

    asyncio.run(run())
    typer.echo("The store is up to date.")


@app.command()
def adapters() -> None:
    """List the adapters that are installed, and how to install what one lacks."""
    table = Table("adapter", "package", "state", box=None, pad_edge=False)
    for adapter in installed_adapters():
        state = "ready" if adapter.missing is None else f"missing: {adapter.missing}"
        table.add_row(escape(adapter.name), escape(adapter.package), escape(state))
    Console(highlight=False).print(table)


def load_bridge(target: str) -> Bridge:
    """Import a bridge.

    Args:
        target: `module:variable`, looked for in the current folder too.

    Raises:
        ConfigurationError: there is no such module or variable, or it is no Bridge.
    """
    module_name, _, variable = target.partition(":")
    if not module_name or not variable:
        raise ConfigurationError(f"{target!r} is not of the form module:variable.")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not module_name.startswith(error.name):
            raise
        raise ConfigurationError(
            f"There is no module {module_name!r} here; run the command in its folder."
        ) from None
    bridge = getattr(module, variable, None)
    if not isinstance(bridge, Bridge):
        found = "nothing" if bridge is None else f"a {type(bridge).__name__}"
        raise ConfigurationError(f"{target} should be a Bridge, but is {found}.")
    return bridge


def main() -> None:
    """Run the command line; what the user can mend is told in one line, without a trace."""
    try:
        app()
    except BridgeError as error:
        line = " ".join(str(error).split())
        console = Console(stderr=True, highlight=False)
        console.print(f"[bold red]error[/]: {escape(line)}", soft_wrap=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
