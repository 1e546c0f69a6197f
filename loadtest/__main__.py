"""Run the load and say what came of it; exits with 1 when something should not have been."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from agui_bridge.terminal import Progress
from benchmarks.contenders.stores import VARIABLES, own_stores
from benchmarks.rows import BenchmarkBroken
from loadtest.idle import stand_idle
from loadtest.neighbours import stand_neighbours
from loadtest.pressure import Result, press

STORES = ("sqlite", "postgresql", "redis")


def main(arguments: list[str] | None = None) -> int:
    """Load what is asked for; gives the exit status."""
    parser = argparse.ArgumentParser(prog="make load", description="Load on real replicas.")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each store")
    parser.add_argument("--stores", nargs="*", choices=STORES, default=list(STORES))
    parser.add_argument("--replicas", type=_several, default=2, help="of each store")
    parser.add_argument("--no-idle", action="store_true", help="leave the idle streams out")
    parser.add_argument("--no-neighbours", action="store_true", help="leave the attacks out")
    parser.add_argument(
        "--connections", type=int, nargs="+", default=[8], help="of the scope that attacks"
    )
    options = parser.parse_args(arguments)
    faults: list[str] = []
    try:
        with Progress() as progress:
            _load(options, faults, progress)
    except BenchmarkBroken as error:
        print(error, file=sys.stderr)
        return 2
    print("load: failed" if faults else "load: nothing twice, nothing lost, no answer unexplained")
    return bool(faults)


def _load(options: argparse.Namespace, faults: list[str], progress: Progress) -> None:
    with tempfile.TemporaryDirectory(prefix="agui-load-") as folder:
        wanted = [name for name in VARIABLES if name.lower() in options.stores]
        with own_stores(local=True, names=wanted) as others:
            urls = {"SQLite": f"sqlite:///{Path(folder) / 'load.db'}", **others}
            for name, url in urls.items():
                if name.lower() in options.stores:
                    result = press(
                        name, url, options.seconds, progress.tell, replicas=options.replicas
                    )
                    faults += _tell(result, progress)
    if not options.no_idle:
        progress.tell("Opening idle streams …")
        faults += _tell(stand_idle(min(20.0, options.seconds)), progress)
    if not options.no_neighbours:
        for connections in options.connections:
            progress.tell(f"Attacking with {connections} connections …")
            result = stand_neighbours(connections, min(6.0, options.seconds))
            faults += _tell(result, progress)


def _several(text: str) -> int:
    if (number := int(text)) < 2:
        raise argparse.ArgumentTypeError("two at least: they are told of the same at once")
    return number


def _tell(result: Result, progress: Progress) -> list[str]:
    progress.clear()
    print(*result.lines, *(f"  FAULT: {fault}" for fault in result.faults), sep="\n", flush=True)
    return result.faults


if __name__ == "__main__":
    sys.exit(main())
