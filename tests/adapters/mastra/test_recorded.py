"""What the bridge makes of each recorded scenario, beside its golden transcript.

`UPDATE_GOLDEN=1` writes the transcripts anew; tests/servers/mastra/record.py the recordings.
"""

from __future__ import annotations

import os

import httpx
import pytest

from tests.servers.mastra.recording import RECORDINGS, Replay, versions
from tests.servers.mastra.scenario import events_of, transcript_of
from tests.servers.mastra.scenarios import SCENARIOS


@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_recorded_scenario_gives_its_transcript(name: str) -> None:
    server = Replay(name)
    async with httpx.AsyncClient(transport=server) as client:
        found = transcript_of(await events_of(name, SCENARIOS[name], "http://mastra.test", client))
    golden = RECORDINGS / f"{name}.jsonl"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(found, encoding="utf-8")

    assert found == golden.read_text(encoding="utf-8")
    assert server.used_up


def test_no_recording_is_left_over_or_of_another_version() -> None:
    assert {path.stem for path in RECORDINGS.glob("*.json")} == set(SCENARIOS)
    assert {path.stem for path in RECORDINGS.glob("*.jsonl")} == set(SCENARIOS)
    assert all(Replay(name).server == versions() for name in SCENARIOS)
