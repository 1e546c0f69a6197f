"""`agui-bridge conformance`: its exit codes, its reports, and what it says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from agui_bridge.cli import app
from agui_bridge.conformance import CHECKS

Written = Callable[[str], str]


def run(*args: str) -> Result:
    command = ["conformance", *args]
    return CliRunner().invoke(app, command, prog_name="agui-bridge", env={"COLUMNS": "200"})


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Writes a configuration, and gives the name of its file."""

    def write(text: str) -> str:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.toml"
        path.write_text(text)
        return str(path)

    return write


def test_a_right_endpoint_gives_0_and_a_wrong_one_beside_it_1(
    started: str, right: str, wrong: str, written: Written, tmp_path: Path
) -> None:
    matrix, details = tmp_path / "matrix.md", tmp_path / "all.json"
    only = ("--only", "replay.once", "--only", "pause.no-execution")

    badge = tmp_path / "badge.svg"
    alone = run("--config", written(started), *only, "--badge", str(badge))
    both = run("--config", written(right), "--config", written(wrong), *only,
               "--matrix", str(matrix), "--output", str(details))  # fmt: skip

    assert alone.exit_code == 0, alone.output
    assert "reference: 2 passed" in alone.stdout
    assert ">2 of 2<" in badge.read_text()
    assert both.exit_code == 1, both.output
    assert "executed 2 times" in both.stdout
    row = next(line for line in matrix.read_text().splitlines() if "`replay.once` |" in line)
    assert row.endswith("| P | F |")
    first, second = json.loads(details.read_text())["endpoints"]
    assert [len(first["results"]), len(second["results"])] == [2, 2]


def test_a_text_prompt_that_makes_the_agent_ask_is_the_configurations_fault(
    right: str, written: Written
) -> None:
    path = written(right.replace("[prompts]", '[prompts]\ntext = "send {marker}"'))

    ended = run("--config", path, "--only", "stream.newer-minor")

    assert ended.exit_code == 1, ended.output
    assert "reference: 1 blocked" in ended.stdout
    assert "prompts.text was to raise no question; it ended with" in ended.stdout


def test_a_should_counts_only_when_strict(wrong: str, written: Written) -> None:
    path = written(wrong)

    codes = [
        run("--config", path, "--only", "pause.schema", *options).exit_code
        for options in ((), ("--strict",))
    ]

    assert codes == [0, 1]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ((), "give a TOML file"),
        (("--config", "nowhere.toml"), "nowhere.toml can't be read"),
        (("http://127.0.0.1:9/agent", "--config", "{file}"), "Is the server running?"),
        (("http://127.0.0.1:x/agent", "--config", "{file}"), "is no URL"),
        (("--config", "{file}", "--only", "replay.twice"), "There is no check 'replay.twice'"),
        (("http://x", "--config", "{file}", "--config", "{file}"), "write url in each file"),
        (("--config", "{broken}", "--output", "x.pdf"), "x.pdf: name it .json"),
        (("--config", "{broken}", "--output", "none/x.md"), "there is no folder none"),
        (("--config", "{file}", "--config", "{file}", "--badge", "b.svg"), "of one endpoint"),
        (("--config", "{broken}", "--badge", "none/x.svg"), "there is no folder none"),
        (("--config", "{broken}"), "server.command ended at once"),
    ],
)
def test_what_can_be_mended_gives_2_and_a_remedy(
    args: tuple[str, ...], told: str, started: str, written: Written
) -> None:
    file, broken = written(started), written(started.replace("serve_reference", "serve_nothing"))

    ended = run(*(arg.format(file=file, broken=broken) for arg in args))

    assert ended.exit_code == 2, ended.output
    assert told in ended.stderr


def test_the_checks_are_listed_without_a_server() -> None:
    ended = run("--list")

    assert ended.exit_code == 0
    listed = [line.split()[0] for line in ended.stdout.splitlines()]
    assert listed == [check.id for check in CHECKS]
