"""Which store a command works on: the one of `--store`, of the environment, or of a bridge."""

from __future__ import annotations

from collections.abc import Sequence

import click

from agui_bridge.cli.options import shared_flags
from agui_bridge.cli.target import Target
from agui_bridge.errors import ConfigurationError

__all__ = ["lasting_store", "store_given", "target_or_store"]

_TARGETS = click.argument("target", nargs=-1, metavar="[TARGET...]")


def target_or_store(command: click.decorators.FC) -> click.decorators.FC:
    """The argument `target` and the option `store`, one of which is needed: see `store_given`."""
    option = click.option(
        "--store",
        envvar="AGUI_BRIDGE_STORE",
        show_envvar=True,
        metavar="URL",
        help="Store, such as sqlite:///agents.db; wins over the one of TARGET.",
    )
    return _TARGETS(option(command))


def store_given(target: Sequence[str], store: str | None) -> str:
    """The address of the store that is meant.

    Args:
        target: names what `serve` takes, such as a configuration file, or nothing.
        store: the option, which the environment stands in for.

    Raises:
        ConfigurationError: the file or the module is wrong, or its store has no address.
        UsageError: nothing says which store.
    """
    if not target:
        if store is None:
            raise click.UsageError(
                "Say which store: name the configuration file, such as bridge.yaml, or give "
                "--store URL or AGUI_BRIDGE_STORE."
            )
        return store
    # A file's other faults are told as well: a command should not work on half of it.
    found = Target.of(target, shared_flags(store, None, None))
    if found.launch.store is not None:
        return found.launch.store
    made = found.bridge()
    if not isinstance(made.store, str):
        raise ConfigurationError(
            f"The store of {found.name} is made in code and has no address.\n"
            "Give its address with --store."
        )
    return made.store


def lasting_store(target: Sequence[str], store: str | None) -> str:
    """The same, for commands that read what servers wrote.

    Raises:
        ConfigurationError: as `store_given`; or it is `memory:`, of which a command sees nothing.
        UsageError: nothing says which store.
    """
    url = store_given(target, store)
    if url == "memory:":
        raise ConfigurationError(
            "The store is memory:, which only the server itself can see.\n"
            "Name the store that your servers share, such as --store sqlite:///agents.db."
        )
    return url
