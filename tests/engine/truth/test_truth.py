"""What is told of tool calls is what the tools did: compared with a log that they keep themselves.

Stops, disconnects, failures and lost leases break in at random. Nothing that began is told as "not
executed", nothing that never began as anything else but where a process was lost with it or the
function's own code could have carried it out, and what ended has its result.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from agui_bridge.protocol.answers.unexecuted import UNKNOWN
from agui_bridge.protocol.threads.records import InterruptStatus
from agui_bridge.stores.base import Expected
from tests.engine.truth.schedule import Seen, carry_out
from tests.stores.conftest import BACKENDS, Backend
from tests.support.agents import Bench
from tests.support.clock import FakeClock

FEW = 40


class RealClock(FakeClock):
    """The clock on the wall: who waits for a lost run waits for the end of its lease."""

    def time(self) -> float:
        return time.time()


MANY = int(os.environ.get("SCHEDULES", "300"))
"""On each store; 2,000 were compared before this was written."""

STORES = [backend for backend in BACKENDS if not backend.slow]


def faults_of(seen: Seen) -> list[str]:
    """Where what was told differs from what the tools did."""
    found = []
    log, told = seen.log, seen.told
    twice = [number for number, times in Counter(log.began).items() if times > 1]
    found += [f"{number} was executed twice" for number in twice]
    # A process that is lost may take along what nobody had been asked about.
    gone = [number for number in log.began if number not in told]
    if seen.breaks != "lost" or any(number in seen.statuses for number in gone):
        found += [f"{number} was executed and is not in the history" for number in gone]
    for number, content in told.items():
        began, ended = number in log.began, number in log.ended
        lost = seen.breaks == "lost" and content in UNKNOWN
        held = number in log.held and content in UNKNOWN
        if ended and content != f"did {number}" and not lost:
            found.append(f"{number} ended, the history says {content!r}")
        elif began and not ended and content not in UNKNOWN:
            found.append(f"{number} began and never ended, the history says {content!r}")
        elif not began and "not executed" not in content and not (lost or held):
            found.append(f"{number} never began, the history says {content!r}")
        if seen.context.get(number) != content:
            found.append(f"{number}: the next run heard {seen.context.get(number)!r}")
        for said in seen.streamed.get(number, ()):
            if began and "not executed" in said:
                found.append(f"{number} began, the stream says {said!r}")
            if not ended and said.startswith("did "):
                found.append(f"{number} never ended, the stream says {said!r}")
    for number, status in seen.statuses.items():
        if status is not _status(seen, number):
            found.append(
                f"{number}: its interrupt is {status.value}, not {_status(seen, number).value}"
            )
    return found


def _status(seen: Seen, number: int) -> InterruptStatus:
    if seen.told.get(number) == f"did {number}":
        return InterruptStatus.RESOLVED
    if seen.told.get(number) in UNKNOWN:
        return InterruptStatus.INDETERMINATE
    return InterruptStatus.CANCELLED


async def _compare(backend: Backend, tmp_path: Path, seeds: range) -> str:
    kinds: Counter[str] = Counter()
    store = await backend.open(backend.url(tmp_path) if backend.url else "", RealClock())
    try:
        for seed in seeds:
            seen = await carry_out(seed, store)
            kinds[seen.breaks] += 1
            assert (seed, seen.breaks, faults_of(seen)) == (seed, seen.breaks, [])
            record = (await store.load(Bench.KEY)).record
            assert record is not None
            await store.delete(Bench.KEY, Expected(version=record.version))
    finally:
        await store.aclose()
    return ", ".join(f"{kind} {times}" for kind, times in sorted(kinds.items()))


async def test_what_is_told_is_what_was_done(tmp_path: Path) -> None:
    (memory,) = [backend for backend in BACKENDS if backend.name == "memory"]

    await _compare(memory, tmp_path, range(FEW))


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("backend", STORES, ids=lambda backend: backend.name)
async def test_what_is_told_is_what_was_done_on_every_store(
    backend: Backend, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    counted = await _compare(backend, tmp_path, range(MANY))

    record_property(
        "told", f"truth of calls, {backend.name}: {MANY} schedules ({counted}), 0 faults"
    )
