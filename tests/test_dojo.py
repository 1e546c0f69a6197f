"""What `make dojo` says without a checkout, and how it counts: the dojo itself is run by hand."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.dojo.checkout import NEEDED, expect_checkout
from tests.dojo.compare import Difference, summary, told
from tests.dojo.specs import Result, results, table


@pytest.mark.parametrize(
    ("made", "complaint"),
    [
        ((), "lacks apps/dojo/package.json, apps/dojo/src/agents.ts"),
        (
            ("apps/dojo/package.json", "apps/dojo/src/agents.ts", "apps/dojo/e2e/tests/a.ts"),
            "lacks apps/dojo/e2e/aimock-standalone.ts, integrations/langgraph/python/examples",
        ),
    ],
)
def test_a_folder_that_is_no_checkout_is_refused_with_what_it_lacks(
    tmp_path: Path, made: tuple[str, ...], complaint: str
) -> None:
    for name in made:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(SystemExit) as refused:
        expect_checkout(str(tmp_path))
    assert complaint in str(refused.value)
    assert "DOJO=FOLDER should name a checkout of github.com/ag-ui-protocol/ag-ui" in str(
        refused.value
    )


@pytest.mark.parametrize(
    ("there", "complaint"),
    [
        ((), "node is not installed"),
        (("node",), "npm is not installed"),
        (("node", "npm", "npx"), "patch is not installed"),
    ],
)
def test_a_tool_that_is_missing_is_named_before_anything_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...], complaint: str
) -> None:
    checkout, commands = tmp_path / "checkout", tmp_path / "bin"
    for name in NEEDED:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).touch()
    commands.mkdir()
    for name in there:
        (commands / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(commands))
    with pytest.raises(SystemExit, match=complaint):
        expect_checkout(str(checkout))
    assert not (checkout / ".bridge").exists()


def test_without_a_folder_it_asks_for_one() -> None:
    with pytest.raises(SystemExit, match="no folder is named"):
        expect_checkout("")


def test_pieces_are_one_event_however_they_are_cut() -> None:
    def piece(delta: str) -> dict[str, Any]:
        return {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": delta}

    raw = {"type": "RAW", "event": {}}
    finished = {"type": "RUN_FINISHED"}
    one = [*told([piece("Hel"), raw, piece("lo"), finished])]
    assert one == [("RAW", ""), ("TEXT_MESSAGE_CONTENT", "Hello"), ("RUN_FINISHED", "")]
    assert [*told([piece("Hello"), finished])] == one[1:]


def test_results_that_are_the_same_json_are_the_same() -> None:
    def result(content: str) -> list[Any]:
        return [*told([{"type": "TOOL_CALL_RESULT", "toolCallId": "c", "content": content}])]

    assert result('{"a":1,"b":2}') == result('{"b": 2, "a": 1}') != result('{"a": 1}')


def test_a_summary_counts_each_side_by_type() -> None:
    one = Difference("adk-chat", Counter({("RAW", ""): 3}), Counter({("CUSTOM", '"usage"'): 1}))
    lines = summary([one]).splitlines()
    assert lines[:3] == ["== adk-chat", "- RAW x3", '+ CUSTOM "usage"']
    assert [line.split() for line in lines[-2:]] == [["CUSTOM", "0", "1"], ["RAW", "3", "0"]]


def test_a_test_that_ran_out_of_time_has_failed(tmp_path: Path) -> None:
    def spec(title: str, status: str, *errors: str) -> dict[str, Any]:
        last = {"status": status, "errors": [{"message": error} for error in errors]}
        return {"title": title, "file": "adk/chat.spec.ts", "tests": [{"results": [last]}]}

    specs = [
        spec("a", "passed"),
        spec("b", "timedOut", "\x1b[31mToo late.\x1b[39m\nAt line 3"),
        spec("c", "skipped"),
    ]
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"suites": [{"specs": [], "suites": [{"specs": specs}]}]}))
    found = results(report)
    assert found == [
        Result("chat.spec.ts", "a", "passed", ""),
        Result("chat.spec.ts", "b", "failed", "Too late."),
        Result("chat.spec.ts", "c", "skipped", ""),
    ]
    lines = table({"adk": found}).splitlines()
    assert lines[1].split() == ["adk", "3", "1", "1", "1"]
    assert lines[2] == "failed: adk/chat.spec.ts: b: Too late."
