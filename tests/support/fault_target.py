"""The approval target with a fault inside: it dies, stands still or waits at a named point.

    python -m tests.support.fault_target --port … --effects … --store … --fault-at POINT
        --fault-do kill|freeze|wait --signals FOLDER

`wait` makes the file FOLDER/reached and goes on once there is FOLDER/go.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import agui_bridge.bridge.bridge as http_app
from agui_bridge import Settings
from agui_bridge.errors import StoreUnavailable
from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.records import ThreadKey, ThreadStatus
from agui_bridge.stores.base import Committed, Expected
from agui_bridge.stores.open import open_store
from examples import approval_target

__all__ = ["POINTS"]


def _claims_answers(change: Change) -> bool:
    run = change.record.run
    return run is not None and run.ends_at == 0.0 and bool(change.interrupts)


def _settles(change: Change) -> bool:
    run = change.record.run
    return run is not None and run.ends_at != 0.0 and bool(change.interrupts)


def _ends_answers(change: Change) -> bool:
    return change.record.status is not ThreadStatus.RUNNING and bool(change.receipts)


POINTS: Final[Mapping[str, tuple[Callable[[Change], bool], bool]]] = {
    "before the claim": (_claims_answers, False),
    "after the claim": (_claims_answers, True),
    "before the result is stored": (_settles, False),
    "after the result is stored": (_settles, True),
    "before the final commit": (_ends_answers, False),
    "after the final commit": (_ends_answers, True),
}
"""The points at commits: which change it is, and whether it is taken by then.

Besides there are `in the tool` and `after its effect`, on either side of the line in the file.
"""


class Fault:
    """What happens, once, at one point."""

    def __init__(self, at: str, do: str, signals: Path) -> None:
        self._at = at
        self._do = do
        self._signals = signals

    def note_failure(self) -> None:
        """Tell that a commit has failed."""
        (self._signals / "failed").touch()

    def strike(self, at: str) -> bool:
        """Do it if this is the point; says whether to wait then."""
        if at != self._at:
            return False
        self._at = ""
        if self._do != "wait":
            os.kill(os.getpid(), signal.SIGKILL if self._do == "kill" else signal.SIGSTOP)
            return False
        (self._signals / "reached").touch()
        return True

    async def meet(self, at: str) -> None:
        """The same where one can wait."""
        if self.strike(at):
            # Another process makes the file: nothing tells of it.
            while not (self._signals / "go").exists():
                await asyncio.sleep(0.005)


class FaultyStore:
    """A store whose commits meet the fault."""

    def __init__(self, inner: Any, fault: Fault) -> None:
        self._inner = inner
        self._fault = fault

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def commit(
        self, key: ThreadKey, change: Change, expected: Expected, write_id: str
    ) -> Committed:
        """Commit, with the points before and after it."""
        for point, (meant, after) in POINTS.items():
            if not after and meant(change):
                await self._fault.meet(point)
        try:
            committed: Committed = await self._inner.commit(key, change, expected, write_id)
        except StoreUnavailable:
            self._fault.note_failure()
            raise
        for point, (meant, after) in POINTS.items():
            if after and meant(change):
                await self._fault.meet(point)
        return committed


def _shift_clock(file: Path) -> None:
    """Put the clock of this process ahead by the seconds that a file says from now on."""
    true_time = time.time

    def shifted() -> float:
        try:
            return true_time() + float(file.read_text() or 0)
        except OSError:
            return true_time()

    time.time = shifted


def main() -> None:
    """Serve the target until something ends it."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--fault-at", default="")
    parser.add_argument("--fault-do", choices=("kill", "freeze", "wait"), default="kill")
    parser.add_argument("--signals", type=Path, default=Path())
    parser.add_argument("--clock", type=Path, help="file with the seconds that its clock is ahead")
    parser.add_argument("--store-retry", type=float, default=10.0)
    parser.add_argument("--sweep", type=float, default=0.0)
    parser.add_argument("--tool-seconds", type=float, default=0.05)
    options, rest = parser.parse_known_args()
    if options.clock is not None:
        _shift_clock(options.clock)
    fault = Fault(options.fault_at, options.fault_do, options.signals)
    append = approval_target._append

    def faulty_append(path: Path, line: dict[str, Any]) -> None:
        fault.strike("in the tool")
        append(path, line)
        fault.strike("after its effect")

    async def open_faulty(url: str, *, migrate: bool = True) -> Any:
        return FaultyStore(await open_store(url, migrate=migrate), fault)

    def settings(**given: Any) -> Settings:
        made = Settings(**given)
        return replace(made, store_retry=options.store_retry, sweep_interval=options.sweep)

    # The target is left as it is: these are the seams that it has.
    for module, name, value in (
        (approval_target, "_append", faulty_append),
        (approval_target, "Settings", settings),
        (approval_target, "TOOL_SECONDS", options.tool_seconds),
        (http_app, "open_store", open_faulty),
    ):
        assert hasattr(module, name)
        setattr(module, name, value)
    sys.argv[1:] = rest
    approval_target.main()


if __name__ == "__main__":
    main()
