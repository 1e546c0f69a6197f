"""The pytest plugin, in runs of pytest within this one, on a right server and on a wrong one."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str]]

SKIPPED = """
[skip]
"memory.restart" = "It keeps nothing."
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs pytest on a configuration, with some options; gives its exit code and its output."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def start(text: str, *options: str) -> tuple[int, str]:
        path = tmp_path / "agent.conformance.toml"
        path.write_text(text)
        command = ["-q", "-s", "-p", "agui_bridge.conformance.pytest_plugin"]
        command += ["-p", "no:cacheprovider", "-p", "no:faulthandler", "-rsxf"]
        code = pytest.main([*command, f"--rootdir={tmp_path}", str(path), *options])
        return int(code), capsys.readouterr().out

    return start


def test_each_check_is_a_test_and_what_does_not_apply_is_skipped(run: Run, right: str) -> None:
    text = right.replace("[prompts]", '[prompts]\ntext = "hello {marker}"')

    code, told = run(f'headers = {{ Authorization = "ann" }}\n{text}{SKIPPED}')

    assert code == 0, told
    assert re.search(r"\d\d passed, \d\d skipped", told), told
    assert "the configuration has no prompts.parallel" in told
    assert "It keeps nothing." in told


def test_a_failure_says_what_was_seen_and_how_to_mend_it(run: Run, wrong: str) -> None:
    code, told = run(wrong, "-k", "replay.once or stream.framing")

    assert code == 1, told
    assert "1 failed, 1 passed" in told
    assert "seen      executed 2 times" in told
    assert "fix       Claim the interrupt durably" in told


def test_a_should_fails_only_a_strict_run(run: Run, wrong: str) -> None:
    chosen = ("-k", "pause.schema")
    lenient, told = run(wrong, *chosen)
    strict, _ = run(wrong, *chosen, "--agui-strict")

    assert (lenient, strict) == (0, 1), told
    assert "1 xfailed" in told
