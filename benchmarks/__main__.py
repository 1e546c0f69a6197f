"""Measure the budget and print it as one table.

    make bench [QUICK=1] [PEERS=1] [STORES=1] [BENCH_ARGS='--only encode']

Exits with an error only when a contender is broken; that a budget is not kept is no error.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.budget.detecting import detection
from benchmarks.budget.encoding import encoding, engine
from benchmarks.budget.frameworks import frameworks
from benchmarks.budget.idling import idle
from benchmarks.budget.importing import importing
from benchmarks.budget.long_threads import long
from benchmarks.budget.report import as_json, as_markdown, print_table
from benchmarks.budget.sealing import audit
from benchmarks.budget.steps import steps
from benchmarks.budget.streaming import first, ready, suspending
from benchmarks.budget.trips import trips
from benchmarks.budget.validating import validation
from benchmarks.measuring.plan import FULL, QUICK, TINY
from benchmarks.measuring.resuming import cycles, interrupt
from benchmarks.measuring.setup import Setup
from benchmarks.rows import BenchmarkBroken, Row

SCENARIOS: Mapping[str, Callable[[Setup], list[Row]]] = {
    "encode": lambda setup: encoding(setup.plan),
    "engine": lambda setup: engine(setup.plan),
    "validation": lambda setup: validation(setup.plan),
    "import": lambda setup: importing(setup.plan),
    "ready": ready,
    "suspend": suspending,
    "first": first,
    "detect": detection,
    "frameworks": frameworks,
    "idle": idle,
    "interrupt": interrupt,
    "trips": trips,
    "long": long,
    "audit": audit,
    "steps": steps,
    "cycles": cycles,
}
"""The scenarios by name; each gives rows called `name/…`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for; gives the exit status."""
    parser = argparse.ArgumentParser(prog="make bench", description="The budget, measured.")
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help=f"a scenario or row, such as ready/raw; again for more ({', '.join(SCENARIOS)})",
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds: below a minute")
    parser.add_argument("--tiny", action="store_true", help="only proves that everything works")
    parser.add_argument("--peers", action="store_true", help="measure other servers too")
    parser.add_argument(
        "--stores",
        action="store_true",
        help="measure the stores in the PostgreSQL and Redis on 127.0.0.1 too",
    )
    parser.add_argument(
        "--cpu",
        action="store_true",
        help="measure streams by their servers' CPU time: steadier on a busy machine (Linux)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples to a file")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    options = parser.parse_args(arguments)
    only: list[str] = options.only or list(SCENARIOS)
    if unknown := [name for name in only if name.partition("/")[0] not in SCENARIOS]:
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(SCENARIOS)}")
    plan = TINY if options.tiny else QUICK if options.quick else FULL
    progress = Console(stderr=True)
    rows: list[Row] = []
    with Setup(plan, peers=options.peers, cpu=options.cpu, servers=options.stores) as setup:
        for name, scenario in SCENARIOS.items():
            wanted = tuple(o for o in only if o.partition("/")[0] == name)
            if not wanted:
                continue
            began = time.monotonic()
            try:
                measured = scenario(setup)
            except BenchmarkBroken as error:
                notes = getattr(error, "__notes__", ())
                progress.print(f"{name} is broken: {error}", *notes, markup=False)
                return 1
            progress.print(f"{name}: {time.monotonic() - began:.0f} s", style="dim")
            rows += [row for row in measured if name in wanted or row.name.startswith(wanted)]
    if options.json is not None:
        options.json.write_text(as_json(rows), encoding="utf-8")
    if options.markdown:
        print(as_markdown(rows))
    else:
        print_table(rows, Console(width=None if sys.stdout.isatty() else 160))
    return 0


if __name__ == "__main__":
    sys.exit(main())
