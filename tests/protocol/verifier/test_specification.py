"""The specification's streams, read by the client: the same verdict for the same reason."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from agui_bridge.client import BrokenStream, Client, RunFailed
from tests.client.raw_server import raw_server, sse
from tests.support.specification import CASES, Seen, expected, faults_of


async def read(case: Mapping[str, Any], caplog: pytest.LogCaptureFixture) -> Seen:
    """What the client makes of a case."""
    seen = Seen()
    messages = case.get("input", {}).get("messages", ())
    dialect: Any = "0.x" if "client" in case else "1.1"
    with caplog.at_level(logging.WARNING, "agui_bridge.client"):
        async with (
            raw_server(sse(*case["stream"])) as server,
            Client(server.url, dialect=dialect, messages=messages) as client,
        ):
            try:
                async for event in client.run():
                    seen.events.append(event)
            except RunFailed:
                pass  # The run failed, and the stream says so: that is no refusal.
            except BrokenStream as error:
                seen.refusal = str(error)
    seen.warnings = [record.getMessage() for record in caplog.records]
    seen.messages, seen.state, seen.request = client.messages, client.state, server.bodies[0]
    return seen


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
