"""Judge peers and write docs/matrix.md: `python -m matrix [NAME…]`, or `make matrix PEERS=…`.

A name is that of a module of tests/servers/peers. It exits with 1 when the bridge made a peer
worse, when anything was executed twice behind it, or when something fails there that `limits.py`
does not name.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from agui_bridge.conformance import CHECKS, Result
from agui_bridge.terminal import Progress
from matrix.judging import SETTINGS, Judged, judge, unkept, worse
from matrix.limits import LIMITS
from matrix.page import JUDGED, Verdict, matrix_page
from tests.servers.peers.peer import VARIANTS

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "matrix.md"
ENVIRONMENTS: Final = ROOT / ".venv-matrix"


def faults_of(verdict: Verdict) -> list[str]:
    """What must not be, of a peer that was judged."""
    alone, *behind = verdict.judged
    named = {check for limit in LIMITS.get(verdict.name, ()) for check in limit.behind}
    faults = []
    for setting, one in zip(SETTINGS[1:], behind, strict=True):
        where = f"{verdict.name} {setting.name}"
        faults += [f"{where}: passes alone: {id}" for id in worse(alone.report, one.report)]
        failed = {result.check.id for result in unkept(one.report)} - named
        faults += [f"{where}: fails and is not named in limits.py: {id}" for id in sorted(failed)]
        if one.twice:
            faults.append(f"{where}: {one.twice} calls were executed twice")
    return faults


def _judged(name: str) -> list[Judged]:
    found = []
    for setting in SETTINGS:
        with Progress() as progress:
            one = judge(name, VARIANTS[name], setting, ENVIRONMENTS, _counting(progress, name))
        print(
            f"{name} {setting.name}: {one.report.passed} of {one.report.applicable}, "
            f"executed twice: {one.twice}",
            flush=True,
        )
        found.append(one)
    return found


def _counting(progress: Progress, name: str) -> Callable[[Result], None]:
    results = itertools.count(1)
    return lambda result: progress.tell(f"{name}: {next(results)} of {len(CHECKS)} checks …")


def main() -> None:
    """Judge, write, and say what must not be."""
    modules = sorted({VARIANTS[name].module for name in JUDGED})
    parser = argparse.ArgumentParser(prog="make matrix", description="Public producers, judged.")
    parser.add_argument("peers", nargs="*", default=modules, metavar="PEER")
    options = parser.parse_args()
    if unknown := set(options.peers) - set(modules):
        parser.error(f"there is no {', '.join(sorted(unknown))}: there are {', '.join(modules)}")
    faults = []
    for name in JUDGED:
        if VARIANTS[name].module not in options.peers:
            continue
        verdict = Verdict(name, datetime.now(UTC).date(), _judged(name))
        PAGE.write_text(matrix_page(PAGE.read_text(encoding="utf-8"), [verdict]), encoding="utf-8")
        faults += faults_of(verdict)
    print(*faults, sep="\n")
    print(f"matrix: {len(faults)} faults" if faults else "matrix: none worse, nothing twice")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
