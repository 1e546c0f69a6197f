"""The example walks through its steps, which it checks itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "kill",
    [pytest.param(False, id="stop"), pytest.param(True, id="kill", marks=pytest.mark.soak)],
)
def test_a_stopped_or_killed_run_loses_nothing_and_the_next_one_goes_on(kill: bool) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "examples.stop_and_continue", *(["--kill"] if kill else [])],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Nothing was lost." in ran.stdout
    if kill:
        assert "the connection broke" in ran.stdout
    else:
        assert "stop: success, USER_INTERRUPTED" in ran.stdout
        assert "RUN_FINISHED: cancelled" in ran.stdout
