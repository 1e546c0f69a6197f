"""What the client makes of one of the specification's streams."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from agui_bridge.client import BrokenStream, Client, RunFailed
from tests.client.raw_server import raw_server, sse
from tests.support.specification import Seen

__all__ = ["read"]


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
