"""The rows as a table for people, as Markdown and as JSON."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.rows import Row

_LEGEND = """\
A / B is the time of A by that of B, unless it says rate. What serves HTTP does so with uvicorn.
official: an event object and the bytes that ag_ui.encoder.EventEncoder makes of it.
Starlette: a StreamingResponse of these. raw: uvicorn alone, bytes made before, a send for each.
bare server: Starlette, a template for each event, two commits a question (`bare`).
pydantic-ai: its AG-UI adapter and a scripted model; its clients hold the history.
ours, if not of tokens (plain str): adapters that make an official event object for each event.
Redis, PostgreSQL: with STORES=1, or when AGUI_BENCH_REDIS, AGUI_BENCH_POSTGRES hold a URL."""

_PACKAGES = ("ag-ui-protocol", "pydantic", "starlette", "uvicorn", "uvloop", "httptools")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _budget(row: Row) -> str:
    if row.at_least is not None:
        return f"≥ {row.at_least:g} {row.unit}"
    return f"≤ {row.at_most:g} {row.unit}" if row.at_most is not None else ""


def _verdict(row: Row) -> str:
    return {True: "yes", False: "NO", None: ""}[row.within]


def _cells(row: Row) -> tuple[str, ...]:
    low, high = _number(min(row.samples)), _number(max(row.samples))
    return row.what, low, f"{_number(row.median)} {row.unit}", high, _budget(row), _verdict(row)


def print_table(rows: Sequence[Row], console: Console) -> None:
    """Print all rows, and then those that fall short."""
    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("row", no_wrap=True, style="dim")
    table.add_column("what")
    for heading in ("min", "median", "max", "budget"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("kept")
    for row in rows:
        style = {True: "green", False: "bold red", None: None}[row.within]
        table.add_row(row.name, *_cells(row), style=style)
    console.print(table)
    short = [row.name for row in rows if row.within is False]
    kept = sum(row.within is True for row in rows)
    console.print(f"\n{kept} of {kept + len(short)} budgets are kept.", end="")
    console.print(f" Short of theirs: {', '.join(short)}." if short else "")
    console.print(f"\n{_LEGEND}", style="dim", highlight=False)


def as_markdown(rows: Sequence[Row]) -> str:
    """A table for the README, with what it was measured on."""
    lines = ["| what | min | median | max | budget | kept |", "|---|--:|--:|--:|--:|---|"]
    lines += [f"| {' | '.join(_cells(row))} |" for row in rows]
    notes = _LEGEND.replace("\n", "  \n")
    return "\n".join([*lines, "", notes, "", f"Measured with {_setting()}.", ""])


def as_json(rows: Sequence[Row]) -> str:
    """All rows with all their samples."""
    measured: list[dict[str, Any]] = [
        {
            "name": row.name,
            "what": row.what,
            "unit": row.unit,
            "median": row.median,
            "samples": row.samples,
            "atLeast": row.at_least,
            "atMost": row.at_most,
            "kept": row.within,
        }
        for row in rows
    ]
    return json.dumps({"setting": _setting(), "rows": measured}, indent=1, ensure_ascii=False)


def _setting() -> str:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return f"{python} on {sys.platform}, {packages}"
