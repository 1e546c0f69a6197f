"""The example goes through its steps, and says what each person was told."""

from __future__ import annotations

import subprocess
import sys

from tests.docs.pages import ROOT


def test_two_people_decide_and_neither_is_the_one_who_asked() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "examples.approvals"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.count("SELF_APPROVAL: ann asked for this") == 1
    assert "open: Delete orders_2019? 1 of 2 (bob)" in ran.stdout
    assert "open: Delete orders_2019? 1 of 2 (cy)" in ran.stdout
    assert ran.stdout.count("result: orders_2019 is deleted.") == 1
    assert "orders_2018 is deleted" not in ran.stdout
    assert "result: The approval was cancelled; this tool call was not executed." in ran.stdout
    assert ran.stdout.endswith("Two people decided, and neither of them had asked.\n")
