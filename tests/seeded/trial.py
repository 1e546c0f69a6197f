"""Tests that are run in a copy of the checkout, and which of them failed first."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tests.seeded.checkout import Copy

__all__ = ["Trial", "try_tests"]

PATIENCE: Final = 3600
"""Seconds after which tests that do not end are given up."""

_OPTIONS: Final = ("-x", "-q", "-p", "no:cacheprovider", "--tb=no", "-rfE")
_OWN: Final = "--ignore=tests/seeded"
"""The test that every fault still fits would notice each of them."""

_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (\S+?\.py::.+?)(?: - .*)?$", re.MULTILINE)
"""A test that failed; of a file that can't even be imported the file alone is named."""


@dataclass(frozen=True)
class Trial:
    """What came of a run of tests, which ends with the first that fails.

    Attributes:
        passed: whether all did.
        failed: the test that did not; None as well if they could not be run at all.
        last: the last line that pytest wrote.
        seconds: how long it took.
    """

    passed: bool
    failed: str | None
    last: str
    seconds: float


def try_tests(copy: Copy, selection: Sequence[str]) -> Trial:
    """Run tests in a copy until one fails.

    Args:
        copy: the copy, as it is now.
        selection: pytest's arguments.
    """
    began = time.monotonic()
    try:
        run = subprocess.run(
            [sys.executable, "-m", "pytest", *_OPTIONS, _OWN, *selection],
            cwd=copy.folder,
            env=copy.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Trial(False, None, "the tests did not end", PATIENCE)
    seconds = time.monotonic() - began
    failed = _FAILED.search(run.stdout)
    last = (run.stdout.strip().splitlines() or ["pytest wrote nothing"])[-1]
    return Trial(run.returncode == 0, failed[1] if failed else None, last, seconds)
