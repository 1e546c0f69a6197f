"""Three light public producers, judged behind two bridges, are what docs/matrix.md says."""

from __future__ import annotations

import pytest

from matrix.__main__ import ENVIRONMENTS, PAGE
from matrix.judging import SETTINGS, judge, unkept
from matrix.page import rows
from tests.servers.peers.peer import VARIANTS, python_of
from tests.support import unavailable


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["agno", "strands", "ag2"])
def test_behind_two_processes_nothing_fails_and_nothing_runs_twice(name: str) -> None:
    variant = VARIANTS[name]
    if not python_of(variant.module, ENVIRONMENTS).exists():
        unavailable(name, "`make e2e` sets its environment up")
    judged = judge(name, variant, SETTINGS[-1], ENVIRONMENTS)
    assert [f"{r.check.id}: {r.detail}" for r in unkept(judged.report)] == [], judged.logs
    assert judged.twice == 0
    told = rows(PAGE.read_text(encoding="utf-8"))[name].split(" | ")
    assert told[4] == f"{judged.report.passed} of {judged.report.applicable}"
