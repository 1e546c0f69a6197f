"""The pytest plugin, run by a pytest of its own on a server that is right, and on a wrong one."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOML = """
url = "http://127.0.0.1:{{port}}/agent"
headers = {{ Authorization = "ann" }}
settle = 0.05

[skip]
"memory.restart" = "It keeps nothing."

[prompts]
approval = "send {{marker}}"
text = "hello {{marker}}"

[executions]
url = "http://127.0.0.1:{{port}}/effects?marker={{marker}}"

[server]
command = ["{{python}}", "-m", "tests.conformance.serve_reference", "{{port}}"{flaws}]
ready = "http://127.0.0.1:{{port}}/capabilities"
folder = "{folder}"
"""


def run(folder: Path, *options: str, flaws: str = "") -> subprocess.CompletedProcess[str]:
    path = folder / "agent.conformance.toml"
    path.write_text(TOML.format(folder=ROOT, flaws=f', "{flaws}"' if flaws else ""))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "agui_bridge.conformance.pytest_plugin"]
    command += ["-p", "no:cacheprovider", "-rsxf", f"--rootdir={folder}", str(path), *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    yield tmp_path


@pytest.mark.slow
def test_each_check_is_a_test_and_what_does_not_apply_is_skipped(folder: Path) -> None:
    ran = run(folder)

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert re.search(r"\d\d passed, \d\d skipped", ran.stdout), ran.stdout
    assert "the configuration has no prompts.parallel" in ran.stdout
    assert "It keeps nothing." in ran.stdout


@pytest.mark.slow
def test_a_failure_says_what_was_seen_and_how_to_mend_it(folder: Path) -> None:
    ran = run(folder, "-k", "replay.once or stream.framing", flaws="replay-executes")

    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "1 failed, 1 passed" in ran.stdout
    assert "seen:   executed 2 times" in ran.stdout
    assert "fix:    Claim the interrupt durably" in ran.stdout


@pytest.mark.slow
def test_a_should_fails_only_a_strict_run(folder: Path) -> None:
    chosen = ("-k", "pause.schema")
    lenient = run(folder, *chosen, flaws="no-schema")
    strict = run(folder, *chosen, "--agui-strict", flaws="no-schema")

    assert (lenient.returncode, strict.returncode) == (0, 1), lenient.stdout + strict.stdout
    assert "1 xfailed" in lenient.stdout
