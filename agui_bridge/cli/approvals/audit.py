"""`agui-bridge audit`: the chain of what was decided, exported, verified and pruned."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TextIO, TypeVar

import click

from agui_bridge.cli.approvals.audit_chain import (
    ExportFormat,
    Verdict,
    export_lines,
    read_anchor,
    verify_export,
    verify_store,
)
from agui_bridge.cli.banner import store_label
from agui_bridge.cli.faults import Command, CommandGroup
from agui_bridge.cli.options import age_option
from agui_bridge.cli.target import Target, lasting_store, target_or_store
from agui_bridge.config.models import Configuration
from agui_bridge.protocol.audit.sealing import AuditKeys
from agui_bridge.protocol.audit.verifying import Fault
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Store
from agui_bridge.stores.open import open_store
from agui_bridge.text.visible import visible

T = TypeVar("T")

_FOUND = 1
"""Exit code where something is wrong with a chain."""


@click.group(cls=CommandGroup)
def audit() -> None:
    """Export or verify what was decided, by whom and through what.

    Once a bridge has `audit.keys_env`, it writes a row for each of these, and
    for each message that an agent redacted.

    Examples:
      agui-bridge audit export bridge.yaml > audit.jsonl
      agui-bridge audit verify bridge.yaml
    """


@audit.command(cls=Command)
@target_or_store
@click.option(
    "--format",
    "format_",
    type=click.Choice(["jsonl", "csv"]),
    default="jsonl",
    help="JSON Lines, or CSV for spreadsheets.",
)
@click.option("--scope", help="Only rows of this scope.")
@click.option("--heads", is_flag=True, help="Only the last row of each chain.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False, writable=True),
    help="Write there instead of to standard output.",
)
def export(
    target: Sequence[str],
    store: str | None,
    format_: ExportFormat,
    scope: str | None,
    heads: bool,
    output: Path | None,
) -> None:
    """Write the rows of a store, one a line. No key is needed.

    The store is that of TARGET, which is what `serve` takes, or of --store.
    JSONL can be verified; CSV is for spreadsheets. If you keep an export where
    nobody who writes to the store can write, it is an anchor: `verify --anchor`
    then also finds rows that were cut off. The --heads of the chains are enough
    for that.

    Examples:
      agui-bridge audit export bridge.yaml > audit.jsonl
      agui-bridge audit export bridge.yaml --heads --output monday.jsonl
      agui-bridge audit export --store sqlite:///agents.db --format csv --output audit.csv
    """
    url = lasting_store(target, store)

    async def write(opened: Store, file: TextIO) -> None:
        async for line in export_lines(opened, format_, scope=scope, heads=heads):
            file.write(line)

    async def run(opened: Store) -> None:
        if output is None:
            await write(opened, sys.stdout)
            return
        with output.open("w", encoding="utf-8", newline="") as file:
            await write(opened, file)

    asyncio.run(_with_store(url, run))


@audit.command(cls=Command)
@click.argument("target", nargs=-1, metavar="[EXPORT|TARGET...]")
@click.option(
    "--store",
    envvar="AGUI_BRIDGE_STORE",
    show_envvar=True,
    metavar="URL",
    help="Store, such as sqlite:///agents.db; wins over the one of TARGET.",
)
@click.option(
    "--key-env",
    "key_envs",
    multiple=True,
    metavar="NAME",
    help="Environment variable that holds a key; once for each, newest first.  "
    "[default: audit.keys_env of TARGET]",
)
@click.option(
    "--anchor",
    "--since",
    "anchor",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="An earlier export, whole or its heads, whose rows must be there.",
)
@click.option("--scope", help="Only threads of this scope.")
@click.option("--agent", help="With --scope and --thread: only one thread, even if it has no rows.")
@click.option("--thread", help="With --scope and --agent: only this thread.")
def verify(
    target: Sequence[str],
    store: str | None,
    key_envs: Sequence[str],
    anchor: Path | None,
    scope: str | None,
    agent: str | None,
    thread: str | None,
) -> None:
    """Say whether the chains of a store, or of an exported file, are whole.

    EXPORT is a file that `audit export` wrote as JSONL. Otherwise the store is
    that of TARGET, which is what `serve` takes, or of --store. Each fault is
    told on a line with its place, and the exit code is then 1. A store is also
    compared with its questions, and with the messages that agents redacted.

    Examples:
      agui-bridge audit verify bridge.yaml
      agui-bridge audit verify bridge.yaml --anchor may.jsonl
      agui-bridge audit verify --store sqlite:///agents.db --key-env AUDIT_KEY
      agui-bridge audit verify audit.jsonl --key-env AUDIT_KEY
    """
    exported = _export_of(target)
    keys = AuditKeys([_from_environment(name) for name in key_envs or _keys_of(target, exported)])
    known = read_anchor(_lines(anchor), anchor.name, keys) if anchor is not None else {}
    only = _thread_of(scope, agent, thread)
    if exported is not None:
        if scope is not None:
            raise click.UsageError("An export is verified whole: leave --scope out.")
        verdict = verify_export(_lines(exported), keys, known)
    else:

        async def run(opened: Store) -> Verdict:
            return await verify_store(opened, keys, anchor=known, scope=scope, only=only)

        verdict = asyncio.run(_with_store(lasting_store(target, store), run))
    _tell(verdict, anchored=anchor is not None)
    if verdict.faults:
        sys.exit(_FOUND)


@audit.command("prune", cls=Command)
@target_or_store
@age_option("How long ago their last row was written: 90m, 12h, 30d, 8w.")
def prune(target: Sequence[str], store: str | None, older_than: float) -> None:
    """Delete the rows of threads that are gone, once they are old.

    When a thread is deleted or pruned, its rows stay. This command deletes
    them. `verify --anchor` then misses them, so export them before. The store
    is that of TARGET, which is what `serve` takes, or of --store.

    Examples:
      agui-bridge audit prune bridge.yaml --older-than 400d
      agui-bridge audit prune --store sqlite:///agents.db --older-than 400d
    """
    url = lasting_store(target, store)

    async def run(opened: Store) -> int:
        count = 0
        while deleted := await opened.audit.prune(older_than):
            count += deleted
        return count

    count = asyncio.run(_with_store(url, run))
    many = f"The rows of {count} thread{'' if count == 1 else 's'} were deleted"
    click.echo(f"{many} from the store {store_label(url)}.")


async def _with_store(url: str, work: Callable[[Store], Awaitable[T]]) -> T:
    opened = await open_store(url, migrate=False)
    try:
        return await work(opened)
    finally:
        await opened.aclose()


def _export_of(target: Sequence[str]) -> Path | None:
    """The exported file that is named, if it is one: all else names a bridge.

    Raises:
        UsageError: it is for spreadsheets, or is not there.
    """
    path = Path(target[0]) if len(target) == 1 else Path()
    if path.suffix == ".csv":
        raise click.UsageError(f"{path} is CSV, which can't be verified. Export JSONL instead.")
    if path.suffix == ".jsonl" and not path.is_file():
        raise click.UsageError(f"There is no file {path}.")
    return path if path.is_file() and path.suffix not in (".yaml", ".yml", ".py") else None


def _keys_of(target: Sequence[str], exported: Path | None) -> Sequence[str]:
    """The variables that hold the keys of a configuration file.

    Raises:
        UsageError: nothing names any.
    """
    if target and exported is None:
        launch = Target.of(target).launch
        if isinstance(launch, Configuration) and launch.audit is not None:
            return launch.audit.keys_env
    raise click.UsageError(
        "Say which keys seal the rows: name a configuration file that has audit.keys_env, or give "
        "--key-env NAME."
    )


def _thread_of(scope: str | None, agent: str | None, thread: str | None) -> ThreadKey | None:
    if agent is None and thread is None:
        return None
    if scope is None or agent is None or thread is None:
        raise click.UsageError("To name a thread, give all of --scope, --agent and --thread.")
    return ThreadKey(scope, agent, thread)


def _from_environment(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise click.UsageError(
            f"The environment variable {name}, which should hold an audit key, is not set."
        )
    return value


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def _tell(verdict: Verdict, *, anchored: bool) -> None:
    for fault in verdict.faults:
        click.echo(visible(f"{_place(fault)}: {fault.what}"))
    many = f"{_counted(verdict.rows, 'row')} of {_counted(verdict.threads, 'thread')}"
    wrong = len(verdict.faults)
    click.echo(f"{many}: {'whole' if not wrong else _counted(wrong, 'fault')}.")
    if verdict.redactions:
        rows = _counted(verdict.redactions, "row")
        tell = "tells" if verdict.redactions == 1 else "tell"
        click.echo(f"{rows} of these {tell} of words that an agent redacted.")
    if verdict.gone and not anchored:
        click.echo(
            f"Threads that no longer exist: {verdict.gone}. Only --anchor shows whether rows at "
            "the end of their chains are missing."
        )


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


def _place(fault: Fault) -> str:
    key = fault.key
    names = "/".join((key.scope, key.agent, key.thread)) if key.agent else "the export"
    row = f", row {fault.seq}" if fault.seq is not None else ""
    chain = f", chain {fault.chain}" if fault.chain else ""
    return f"{names}{chain}{row}"
