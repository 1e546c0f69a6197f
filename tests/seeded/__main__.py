"""Break the code in one way after the other, and see that the tests notice each.

`python -m tests.seeded [ID…]`. Exits with 1 if a fault is not found, with 2 if the tests fail
without any fault: then none of them says anything.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence

from tests.seeded.checkout import Copy, copied
from tests.seeded.fault import Fault
from tests.seeded.faults import FAULTS
from tests.seeded.trial import try_tests

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Try the faults that are asked for; gives the exit status."""
    parser = argparse.ArgumentParser(prog="make seeded", description="Faults that tests must find.")
    parser.add_argument("ids", nargs="*", metavar="ID", help="which faults; all by default")
    parser.add_argument("--list", action="store_true", help="only say what each fault breaks")
    parser.add_argument(
        "--whole",
        type=shlex.split,
        metavar="ARGUMENTS",
        help="run pytest with these arguments instead of each fault's own tests",
    )
    options = parser.parse_args(arguments)
    if unknown := set(options.ids) - {fault.id for fault in FAULTS}:
        parser.error(f"there is no fault {', '.join(sorted(unknown))}; see --list")
    chosen = [fault for fault in FAULTS if fault.id in options.ids or not options.ids]
    if options.list:
        for fault in chosen:
            print(f"{fault.id}: {fault.broken}")
        return 0
    with copied() as copy:
        return _try(copy, chosen, options.whole)


def _try(copy: Copy, faults: Sequence[Fault], whole: Sequence[str] | None) -> int:
    every = [test for fault in faults for test in fault.tests.split()]
    right = try_tests(copy, whole or ["-n0", *dict.fromkeys(every)])
    if not right.passed:
        print(f"without any fault: {right.failed or 'no test'} failed; {right.last}")
        return 2
    print(f"without any fault: {right.last}", flush=True)
    missed = 0
    for fault in faults:
        with copy.broken_by(fault):
            trial = try_tests(copy, whole or ["-n0", *fault.tests.split()])
        took = f"({trial.seconds:.1f} s)"
        if trial.failed is not None:
            print(f"found  {fault.id}  by {trial.failed} {took}", flush=True)
        else:
            missed += 1
            print(f"NOT FOUND  {fault.id}  {fault.broken} {trial.last} {took}", flush=True)
    print(f"{len(faults) - missed} found, {missed} not found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
