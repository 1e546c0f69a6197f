"""The specification's streams, read by the client: the same verdict for the same reason."""

from __future__ import annotations

import pytest

from tests.client.reading import read
from tests.support.specification import CASES, expected, faults_of


@pytest.mark.parametrize("name", CASES)
async def test_the_client_judges_a_stream_as_the_specification_does(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    case = CASES[name]
    assert faults_of(await read(case, caplog), expected(case, here=True)) == []


def test_all_streams_of_the_specification_are_there() -> None:
    assert len(CASES) == 68
    assert [name for name, case in CASES.items() if "here" in case] == [
        "era-0-0-39-flattens-content",
        "era-0-0-57-subagent-dropped-with-warning",
        "reasoning-message-wrong-role-fatal",
    ]
    assert {c["expect"]["outcome"] for c in CASES.values() if "here" in c} == {
        "completed",
        "failed",
    }
