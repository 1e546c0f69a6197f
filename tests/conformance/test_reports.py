"""The reports: what people, continuous integration and pages read."""

from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from agui_bridge.conformance import CHECKS, Report, Result
from agui_bridge.conformance.check import Check
from agui_bridge.conformance.reports import (
    as_badge,
    as_json,
    as_junit,
    as_markdown,
    check_names,
    print_report,
    write_reports,
)
from agui_bridge.conformance.verdicts import Severity, Status
from agui_bridge.errors import ConfigurationError
from agui_bridge.terminal import Terminal


def check(severity: Severity, number: int = 0) -> Check:
    return [c for c in CHECKS if c.severity == severity][number]


def report(name: str, *results: tuple[Check, Status, str]) -> Report:
    return Report(name, "http://x/agent", tuple(Result(*result, 0.5) for result in results))


BROKEN = report(
    "one|two",
    (check("must"), "pass", ""),
    (check("must", 1), "fail", "executed 2 times\n\x00 & <twice>"),
    (check("must", 2), "blocked", "it did not ask"),
    (check("should"), "fail", "no schema"),
    (check("should", 1), "skip", "no prompts.text"),
)
FINE = report("fine", (check("must"), "pass", ""))


def test_only_what_must_pass_fails_a_lenient_run() -> None:
    assert [r.check.severity for r in BROKEN.failures()] == ["must", "must"]
    assert len(BROKEN.failures(strict=True)) == 3
    assert FINE.failures(strict=True) == []


def test_json_holds_everything() -> None:
    (endpoint,) = json.loads(as_json([BROKEN]))["endpoints"]

    assert (endpoint["name"], endpoint["url"]) == ("one|two", "http://x/agent")
    assert [r["status"] for r in endpoint["results"]] == "pass fail blocked fail skip".split()
    assert set(endpoint["results"][0]) == {
        "id", "status", "detail", "seconds", "sentence", "source", "severity", "profile", "fix",
        "expected", "evidence", "notes",
    }  # fmt: skip


def test_junit_counts_and_stays_xml_whatever_was_seen() -> None:
    root = ElementTree.fromstring(as_junit([BROKEN, FINE]).encode())

    suite = root[0].attrib
    assert (suite["tests"], suite["failures"], suite["errors"], suite["skipped"]) == (
        "5", "1", "1", "2",
    )  # fmt: skip
    failure = root[0].find("testcase/failure")
    assert failure is not None
    assert failure.attrib["message"].endswith("\ufffd & <twice>")
    assert root[1].attrib["failures"] == "0"


def test_markdown_sets_endpoints_side_by_side() -> None:
    lines = as_markdown([BROKEN, FINE]).splitlines()

    assert lines[0] == "| check | promise | one\\|two | fine |"
    marks = [line.rsplit("|", 3)[1:3] for line in lines[2:7]]
    assert marks == [[" P ", " P "], [" F ", "  "], [" B ", "  "], [" f ", "  "], [" - ", "  "]]
    assert f"- `{check('must', 1).id}`: executed 2 times \x00 & <twice>" in lines


def test_the_terminal_says_what_was_seen_where_and_how_to_mend_it() -> None:
    out = io.StringIO()
    print_report(BROKEN, Terminal(out))

    text = out.getvalue()
    failed = check("must", 1)
    assert failed.fix in text
    assert failed.source in text
    assert "executed 2 times" in text
    assert "it did not ask" in text
    assert check("must", 2).fix not in text, "of a check that could not judge"
    said = (
        "one|two: 1 passed, 1 failed, 1 of should failed, 1 blocked, 1 skipped (--verbose says why)"
    )
    assert text.rstrip().endswith(said)
    assert check("should", 1).id not in text


ENDINGS: list[tuple[Check, Status, str]] = [
    (check("must"), "pass", ""),
    (check("must", 1), "fail", "a"),
    (check("must", 2), "fail", "b"),
    *((check("must", 3 + n), "blocked", "it did not ask") for n in range(3)),
    (check("should"), "fail", "c"),
    (check("should", 1), "blocked", "it did not ask"),
    (check("should", 2), "skip", "no prompts.text"),
]


def test_terminal_junit_and_json_count_alike() -> None:
    judged = report("x", *ENDINGS)
    out = io.StringIO()
    print_report(judged, Terminal(out))
    suite = ElementTree.fromstring(as_junit([judged]).encode())[0]
    counts = json.loads(as_json([judged]))["endpoints"][0]["counts"]

    tally = "1 passed, 2 failed, 1 of should failed, 3 blocked, 1 of should blocked, 1 skipped"
    assert f"x: {tally}" in out.getvalue()
    assert [p.attrib["value"] for p in suite.iterfind("properties/property")] == [tally]
    assert counts == {
        "passed": 1, "failed": 2, "should_failed": 1, "blocked": 3, "should_blocked": 1,
        "skipped": 1,
    }  # fmt: skip
    assert suite.attrib["failures"] == str(counts["failed"])
    assert suite.attrib["errors"] == str(counts["blocked"])
    lenient = counts["should_failed"] + counts["should_blocked"]
    assert suite.attrib["skipped"] == str(lenient + counts["skipped"])
    assert suite.attrib["tests"] == str(sum(counts.values())) == str(len(ENDINGS))


def test_what_blocked_several_checks_is_told_once() -> None:
    judged = report("x", *ENDINGS)
    out = io.StringIO()
    print_report(judged, Terminal(out))

    for text in (out.getvalue(), as_markdown([judged])):
        assert text.count("it did not ask") == 1
    ids = [c.id for c, status, _ in ENDINGS if status == "blocked"]
    assert "blocked 4 checks, all by this" in out.getvalue()
    assert f"checks    {', '.join(ids)}" in out.getvalue()


def test_the_terminal_says_why_a_check_is_skipped_if_it_is_asked() -> None:
    out = io.StringIO()
    print_report(BROKEN, Terminal(out), verbose=True)

    row = next(line for line in out.getvalue().splitlines() if check("should", 1).id in line)
    assert row.rstrip().endswith("skip     no prompts.text")
    assert out.getvalue().rstrip().endswith("1 skipped")


NOTED = Report(
    "noted",
    "http://x/agent",
    (Result(check("must"), "pass", notes=("a sub-agent is not announced",)),),
    found=("its approval offers editedArgs",),
)


def test_a_note_on_what_passed_is_in_every_report() -> None:
    out = io.StringIO()
    print_report(NOTED, Terminal(out))
    (endpoint,) = json.loads(as_json([NOTED]))["endpoints"]
    case = ElementTree.fromstring(as_junit([NOTED]).encode()).find("testsuite/testcase")

    note = f"{check('must').id}: a sub-agent is not announced"
    assert note in out.getvalue()
    assert endpoint["results"][0]["status"] == "pass"
    assert endpoint["results"][0]["notes"] == ["a sub-agent is not announced"]
    assert case is not None
    assert case.findtext("system-out") == "a sub-agent is not announced"
    assert "passed, with a note: a sub-agent is not announced" in as_markdown([NOTED])


def test_what_was_found_out_is_in_every_report() -> None:
    out = io.StringIO()
    print_report(NOTED, Terminal(out))
    suite = ElementTree.fromstring(as_junit([NOTED]).encode())[0]

    said = "its approval offers editedArgs"
    assert said in out.getvalue()
    assert json.loads(as_json([NOTED]))["endpoints"][0]["found"] == [said]
    assert [p.attrib["value"] for p in suite.iterfind("properties/property[@name='found']")] == [
        said
    ]
    assert f"- found out: {said}" in as_markdown([NOTED])


def test_what_was_expected_and_the_requests_stand_beside_what_was_seen() -> None:
    failed = Result(
        check("must"), "fail", "a", 0.1, expected="b", evidence=('sent {"resume": []}', "came {}")
    )
    endpoint = Report("x", "http://x", (failed,))
    out = io.StringIO()
    print_report(endpoint, Terminal(out))
    failure = ElementTree.fromstring(as_junit([endpoint]).encode()).find("*/*/failure")

    assert failure is not None
    for text in (out.getvalue(), failure.text or ""):
        for line in ("expected  b", "seen      a", 'sent {"resume": []}', "came {}"):
            assert line in text


@pytest.mark.parametrize(
    ("judged", "said", "colour"),
    [
        (FINE, "1 of 1", "#2d7d3a"),
        (report("a", (check("must"), "pass", ""), (check("should"), "fail", "")), "1 of 2", "#8a6"),
        (BROKEN, "1 of 4", "#b3261e"),
    ],
)
def test_a_badge_tells_what_passed_of_what_applies(judged: Report, said: str, colour: str) -> None:
    badge = as_badge(judged)

    texts = [n.text for n in ElementTree.fromstring(badge).iter() if n.tag.endswith("}text")]
    assert texts == ["AG-UI conformance", said]
    assert colour in badge
    assert badge.replace(judged.url, "").count("http") == 1, "nothing but the namespace"


def test_a_matrix_sums_up() -> None:
    assert as_markdown([BROKEN, FINE]).splitlines()[7].endswith("| 1 of 4 | 1 of 1 |")


def test_an_ending_names_the_format(tmp_path: Path) -> None:
    paths = [tmp_path / f"report{ending}" for ending in (".json", ".xml", ".md")]

    write_reports([FINE], paths)

    assert [path.read_text()[0] for path in paths] == ["{", "<", "|"]
    check_names(paths)
    with pytest.raises(ConfigurationError, match=r"report\.pdf: name it"):
        check_names([tmp_path / "report.pdf"])
