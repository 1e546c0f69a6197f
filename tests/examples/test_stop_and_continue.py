"""The example walks through its steps, which it checks itself."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.soak
@pytest.mark.parametrize(
    "kill",
    [pytest.param(False, id="stop"), pytest.param(True, id="kill", marks=pytest.mark.soak)],
)
def test_the_next_run_goes_on_and_the_last_line_says_what_was_done_again(
    kill: bool,
) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "examples.stop_and_continue", *(["--kill"] if kill else [])],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    first, now = ran.stdout.split("4. A new instruction:")
    listed = next(line for line in now.splitlines() if "Written now: " in line)
    after = listed.split("Written now: ")[1].split(", ")
    twice = [name for name in re.findall(r"RESULT: wrote (\S+)", first) if name in after]
    told = re.findall(r"One step was done again: (\S+) was written", now)
    assert told == twice
    assert ("Nothing was lost, and no step was done again." in now) == (not twice)
    if kill:
        assert "the connection broke" in ran.stdout
    else:
        assert not twice
        assert "stop: success, USER_INTERRUPTED" in ran.stdout
        assert "RUN_FINISHED: cancelled" in ran.stdout
