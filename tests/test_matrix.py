"""docs/matrix.md: what is judged stands there anew, and the rest as it was."""

from __future__ import annotations

from datetime import date

from agui_bridge.conformance import CHECKS, Report, Result
from matrix.__main__ import PAGE, faults_of
from matrix.judging import SETTINGS, Judged
from matrix.page import JUDGED, Verdict, matrix_page, rows
from tests.servers.peers.peer import VARIANTS
from tests.servers.peers.record import measured_with

DAY = date(2026, 1, 31)
FIRST, SECOND = CHECKS[:2]


def report(*failed: str) -> Report:
    results = [
        Result(check, "fail" if check.id in failed else "pass", "seen so")
        for check in (FIRST, SECOND)
    ]
    return Report("any", "", tuple(results))


def verdict(name: str, *settings: tuple[str, ...], twice: int = 0) -> Verdict:
    judged = [Judged(report(*failed), twice, "") for failed in settings]
    return Verdict(name, DAY, judged)


def section(text: str, name: str) -> str:
    return text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def test_what_is_judged_stands_there_anew_and_the_rest_as_it_was() -> None:
    before = PAGE.read_text(encoding="utf-8")
    after = matrix_page(before, [verdict("strands", (FIRST.id,), (), ())])
    assert after.startswith(before.partition("| peer |")[0])
    assert rows(after)["strands"].startswith("| [strands](#strands) | 2026-01-31 | 1 of 2 | 2 of 2")
    assert f"Alone, these fail:\n\n- `{FIRST.id}`: seen so" in section(after, "strands")
    for name in JUDGED:
        if name != "strands":
            assert rows(after).get(name) == rows(before).get(name)
            assert section(after, name).strip() == section(before, name).strip()


def test_nothing_is_changed_where_nothing_was_judged() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert matrix_page(text, []) == text


def test_a_peer_that_was_never_on_the_page_takes_its_place_in_the_table() -> None:
    empty = PAGE.read_text(encoding="utf-8").partition("| peer |")[0]
    all_pass = [verdict(name, (), (), ()) for name in reversed(JUDGED)]
    assert tuple(rows(matrix_page(empty, all_pass))) == JUDGED


def test_what_got_worse_what_ran_twice_and_what_nobody_named_are_faults() -> None:
    assert faults_of(verdict("strands", (FIRST.id,), (), ())) == []
    assert faults_of(verdict("strands", (), (), (FIRST.id,))) == [
        f"strands behind, two processes: passes alone: {FIRST.id}",
        f"strands behind, two processes: fails and is not named in limits.py: {FIRST.id}",
    ]
    unnamed = faults_of(verdict("strands", (FIRST.id,), (FIRST.id,), ()))
    assert unnamed == [
        f"strands behind, one process: fails and is not named in limits.py: {FIRST.id}"
    ]
    twice = faults_of(verdict("strands", (), (), (), twice=2))
    assert twice == [f"strands {s.name}: 2 calls were executed twice" for s in SETTINGS[1:]]


def test_the_page_tells_of_every_peer_in_the_version_that_is_installed() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert tuple(rows(text)) == JUDGED
    for name in JUDGED:
        for package in measured_with(VARIANTS[name].module):
            assert package.replace("==", " ") in section(text, name)


def test_nothing_is_executed_twice_behind_the_bridge_as_the_page_says() -> None:
    for row in rows(PAGE.read_text(encoding="utf-8")).values():
        _, one, two = row.rstrip("| \n").rpartition("|")[2].split(",")
        assert (int(one), int(two)) == (0, 0)
