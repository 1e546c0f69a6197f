"""`agui-bridge conformance`: its exit codes, its reports, and what it says."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from agui_bridge.conformance import CHECKS
from tests.cli.processes import ROOT, command, environment

TOML = """
name = "reference"
url = "http://127.0.0.1:{{port}}/agent"
settle = 0.05
[prompts]
approval = "send {{marker}}"
[executions]
url = "http://127.0.0.1:{{port}}/effects?marker={{marker}}"
[server]
command = ["{{python}}", "-m", "tests.conformance.serve_reference", "{{port}}"{flaws}]
ready = "http://127.0.0.1:{{port}}/capabilities"
"""


def run(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command("conformance", *args),
        cwd=ROOT,
        env=environment(COLUMNS="200"),
        capture_output=True,
        text=True,
        check=False,
    )


def written(folder: Path, name: str, flaws: str = "") -> str:
    path = folder / name
    path.write_text(TOML.format(flaws=f', "{flaws}"' if flaws else ""))
    return str(path)


@pytest.mark.slow
def test_a_right_endpoint_gives_0_and_a_wrong_one_beside_it_1(tmp_path: Path) -> None:
    right = written(tmp_path, "right.toml")
    wrong = written(tmp_path, "wrong.toml", "replay-executes")
    matrix, details = tmp_path / "matrix.md", tmp_path / "all.json"
    only = ("--only", "replay.once", "--only", "pause.schema")

    alone = run("--config", right, *only)
    both = run("--config", right, "--config", wrong, *only, "--output", str(matrix),
               "--output", str(details))  # fmt: skip

    assert alone.returncode == 0, alone.stdout + alone.stderr
    assert "reference: 2 passed" in alone.stdout
    assert both.returncode == 1, both.stdout + both.stderr
    assert "executed 2 times" in both.stdout
    row = next(line for line in matrix.read_text().splitlines() if "`replay.once` |" in line)
    assert row.endswith("| P | F |")
    first, second = json.loads(details.read_text())["endpoints"]
    assert [len(first["results"]), len(second["results"])] == [2, 2]


@pytest.mark.slow
def test_a_text_prompt_that_makes_the_agent_ask_is_the_configurations_fault(tmp_path: Path) -> None:
    path = Path(written(tmp_path, "agent.toml"))
    path.write_text(path.read_text().replace("[prompts]", '[prompts]\ntext = "send {marker}"'))

    ended = run("--config", str(path), "--only", "stream.newer-minor")

    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "reference: 1 blocked" in ended.stdout
    assert "prompts.text was to raise no question; it ended with" in ended.stdout


@pytest.mark.slow
def test_a_should_counts_only_when_strict(tmp_path: Path) -> None:
    path = written(tmp_path, "agent.toml", "no-schema")

    codes = [
        run("--config", path, "--only", "pause.schema", *options).returncode
        for options in ((), ("--strict",))
    ]

    assert codes == [0, 1]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ((), "name a TOML file"),
        (("--config", "nowhere.toml"), "nowhere.toml can't be read"),
        (("http://127.0.0.1:9/agent", "--config", "{file}"), "Is the server running?"),
        (("http://127.0.0.1:x/agent", "--config", "{file}"), "is no URL"),
        (("--config", "{file}", "--only", "replay.twice"), "There is no check 'replay.twice'"),
        (("http://x", "--config", "{file}", "--config", "{file}"), "write url in each file"),
        (("--config", "{broken}", "--output", "x.pdf"), "x.pdf: name it .json"),
        (("--config", "{broken}", "--output", "none/x.md"), "there is no folder none"),
        (("--config", "{broken}"), "server.command ended at once"),
    ],
)
def test_what_can_be_mended_gives_2_and_a_remedy(
    args: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    file = written(tmp_path, "checks.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text(Path(file).read_text().replace("serve_reference", "serve_nothing"))

    ended = run(*(arg.format(file=file, broken=broken) for arg in args))

    assert ended.returncode == 2, ended.stdout + ended.stderr
    assert told in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_checks_are_listed_without_a_server() -> None:
    ended = run("--list")

    assert ended.returncode == 0
    listed = [line.split()[0] for line in ended.stdout.splitlines()]
    assert listed == [check.id for check in CHECKS]
