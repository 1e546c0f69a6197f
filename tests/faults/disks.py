"""SQLite: the disk is full, or another process holds the file's lock."""

from __future__ import annotations

import contextlib
import resource
import sqlite3
import time
from collections.abc import Iterator
from typing import Any, Final

from tests.faults.scenario import LEASE, Case, Scenario
from tests.support.target import Answered

__all__ = ["DISKS", "LOCKS"]

BRIEF: Final[dict[str, Any]] = {"options": {"store-retry": 1.0}, "lease": LEASE + 1}
"""A write is given up long before the lease is over."""
CLAIM, RESULT, END = "before the claim", "before the result is stored", "before the final commit"


@contextlib.contextmanager
def _full_disk(case: Case) -> Iterator[None]:
    """No file of the faulty replica may grow meanwhile: what it writes fails."""
    _, hard = resource.prlimit(case.faulty.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(case.faulty.pid, resource.RLIMIT_FSIZE, (0, hard))
    yield
    resource.prlimit(case.faulty.pid, resource.RLIMIT_FSIZE, (hard, hard))


@contextlib.contextmanager
def _lock(case: Case) -> Iterator[None]:
    path = case.replicas.url.removeprefix("sqlite:///")
    with contextlib.closing(sqlite3.connect(path, timeout=10)) as connection:
        connection.isolation_level = None
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def _full(case: Case) -> Answered:
    told = case.approve_and_reach()
    with _full_disk(case):
        case.go()
        return told.result()


def _full_for_a_moment(case: Case) -> Answered:
    told = case.approve_and_reach()
    with _full_disk(case):
        case.go()
        case.wait_for_failure()
    return told.result()


def _locked_for_a_moment(case: Case) -> Answered:
    told = case.approve_and_reach()
    with _lock(case):
        case.go()
        time.sleep(0.5)
    return told.result()


def _locked_past_the_lease(case: Case) -> Answered:
    told = case.approve_and_reach()
    with _lock(case):
        case.go()
        answered = told.result()
        time.sleep(LEASE)
    return answered


DISKS: Final = [
    Scenario("disk full for a moment at the claim", _full_for_a_moment, CLAIM),
    Scenario("disk full at the claim", _full, CLAIM, **BRIEF),
    Scenario("disk full for a moment before the result is stored", _full_for_a_moment, RESULT),
    Scenario("disk full before the result is stored", _full, RESULT, **BRIEF),
    Scenario("disk full at the end", _full, END, **BRIEF),
]
LOCKS: Final = [
    Scenario("file locked for half a second at the claim", _locked_for_a_moment, CLAIM),
    Scenario(
        "file locked past the lease, from before the result is stored",
        _locked_past_the_lease,
        RESULT,
        lease=LEASE,
    ),
]
"""Each takes the store from all others: they are played one by one."""
