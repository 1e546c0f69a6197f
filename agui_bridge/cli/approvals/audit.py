"""`agui-bridge audit`: the chain of what was decided, exported, verified and pruned."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TextIO, TypeVar

import click

from agui_bridge.audit.export import ExportFormat, export_lines
from agui_bridge.audit.verification import (
    Verdict,
    read_anchor,
    verify_export,
    verify_store,
)
from agui_bridge.cli.ages import age_option
from agui_bridge.cli.banner import store_label
from agui_bridge.cli.faults import Command, CommandGroup
from agui_bridge.cli.options import store_to_open
from agui_bridge.protocol.audit.keys import AuditKeys
from agui_bridge.protocol.audit.verifying import Fault
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Store
from agui_bridge.stores.open import open_store

__all__ = ["audit"]

T = TypeVar("T")

_FOUND = 1
"""Exit code where something is wrong with a chain."""


@click.group(cls=CommandGroup)
def audit() -> None:
    """Export or verify what was decided, by whom and through what.

    Rows are there from the moment on that a bridge has `audit.keys_env`;
    docs/audit.md says what they prove.

    Examples:
      agui-bridge audit export --store sqlite:///agents.db > audit.jsonl
      agui-bridge audit verify --store sqlite:///agents.db --key-env AUDIT_KEY
    """


@audit.command(cls=Command)
@store_to_open
@click.option("--format", "format_", type=click.Choice(["jsonl", "csv"]), default="jsonl")
@click.option("--scope", help="Only rows of this scope.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False, writable=True),
    help="Write there instead of to standard output.",
)
def export(store: str, format_: ExportFormat, scope: str | None, output: Path | None) -> None:
    """Write the rows of a store, one a line. No key is needed.

    JSONL can be verified; CSV is for spreadsheets. An export that is kept where
    nobody of the store can write is an anchor: `verify --anchor` then finds rows
    that were cut off.

    Examples:
      agui-bridge audit export --store sqlite:///agents.db > audit.jsonl
      agui-bridge audit export --store sqlite:///agents.db --format csv --output audit.csv
    """

    async def write(opened: Store, file: TextIO) -> None:
        async for line in export_lines(opened, format_, scope=scope):
            file.write(line)

    async def run(opened: Store) -> None:
        if output is None:
            await write(opened, sys.stdout)
            return
        with output.open("w", encoding="utf-8", newline="") as file:
            await write(opened, file)

    asyncio.run(_with_store(store, run))


@audit.command(cls=Command)
@click.argument(
    "exported", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False)
)
@click.option("--store", envvar="AGUI_BRIDGE_STORE", show_envvar=True, help="Store URL.")
@click.option(
    "--key-env",
    "key_envs",
    required=True,
    multiple=True,
    metavar="NAME",
    help="Environment variable that holds a key; once for each, newest first.",
)
@click.option(
    "--anchor",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="An earlier export, whose rows must be there.",
)
@click.option("--scope", help="Only threads of this scope.")
@click.option("--agent", help="With --scope and --thread: only this thread, even without rows.")
@click.option("--thread", help="See --agent.")
def verify(
    exported: Path | None,
    store: str | None,
    key_envs: Sequence[str],
    anchor: Path | None,
    scope: str | None,
    agent: str | None,
    thread: str | None,
) -> None:
    """Say whether the chains of a store, or of an export, are whole.

    What is wrong is told line by line with its place, and the exit code is 1.
    A store is also compared with its questions.

    Examples:
      agui-bridge audit verify --store sqlite:///agents.db --key-env AUDIT_KEY
      agui-bridge audit verify audit.jsonl --key-env AUDIT_KEY
      agui-bridge audit verify --store sqlite:///agents.db --key-env AUDIT_KEY --anchor may.jsonl
    """
    keys = AuditKeys([_from_environment(name) for name in key_envs])
    known = read_anchor(_lines(anchor), anchor.name) if anchor is not None else {}
    only = _thread_of(scope, agent, thread)
    if exported is not None:
        if scope is not None:
            raise click.UsageError("An export is verified whole: leave --scope out.")
        verdict = verify_export(_lines(exported), keys, known)
    elif store is not None:

        async def run(opened: Store) -> Verdict:
            return await verify_store(opened, keys, anchor=known, scope=scope, only=only)

        verdict = asyncio.run(_with_store(store, run))
    else:
        raise click.UsageError("Give an export, or --store.")
    _tell(verdict, anchored=anchor is not None)
    if verdict.faults:
        sys.exit(_FOUND)


@audit.command("prune", cls=Command)
@store_to_open
@age_option("How long ago their last row was written: 90m, 12h, 30d, 8w.")
def prune(store: str, older_than: float) -> None:
    """Delete rows of threads that are gone, once they are old.

    Rows stay when their thread is deleted or pruned. This deletes whole chains,
    which `verify --anchor` then misses: export them before.

    Example:
      agui-bridge audit prune --store sqlite:///agents.db --older-than 400d
    """

    async def run(opened: Store) -> int:
        count = 0
        while deleted := await opened.audit.prune(older_than):
            count += deleted
        return count

    count = asyncio.run(_with_store(store, run))
    many = f"the rows of {count} thread{'' if count == 1 else 's'}"
    click.echo(f"{many} deleted from the store {store_label(store)}.")


async def _with_store(url: str, work: Callable[[Store], Awaitable[T]]) -> T:
    opened = await open_store(url, migrate=False)
    try:
        return await work(opened)
    finally:
        await opened.aclose()


def _thread_of(scope: str | None, agent: str | None, thread: str | None) -> ThreadKey | None:
    if agent is None and thread is None:
        return None
    if scope is None or agent is None or thread is None:
        raise click.UsageError("A thread is named by --scope, --agent and --thread.")
    return ThreadKey(scope, agent, thread)


def _from_environment(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise click.UsageError(f"--key-env: the environment variable {name} is not set.")
    return value


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def _tell(verdict: Verdict, *, anchored: bool) -> None:
    for fault in verdict.faults:
        click.echo(f"{_place(fault)}: {fault.what}")
    many = f"{verdict.rows} rows of {verdict.threads} threads"
    wrong = len(verdict.faults)
    click.echo(f"{many}: {'whole' if not wrong else f'{wrong} faults'}.")
    if verdict.gone and not anchored:
        click.echo(
            f"{verdict.gone} of the threads are gone: whether the ends of their chains were cut "
            "off can't be told without --anchor."
        )


def _place(fault: Fault) -> str:
    key = fault.key
    names = "/".join((key.scope, key.agent, key.thread)) if key.agent else "the export"
    row = f", row {fault.seq}" if fault.seq is not None else ""
    chain = f", chain {fault.chain}" if fault.chain else ""
    return f"{names}{chain}{row}"
