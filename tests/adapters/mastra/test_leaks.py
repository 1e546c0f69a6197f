"""Nothing on the wire with which a run at Mastra could be found, continued or looked into."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.servers.mastra.recording import RECORDINGS, Replay
from tests.servers.mastra.scenario import events_of
from tests.servers.mastra.scenarios import SCENARIOS

_IDS = frozenset({"runId", "toolCallId", "taskId", "stepCallId", "subAgentThreadId", "parentRunId"})
_INSIDE = ("sk-secret", ".mjs:", "scripted model failure", "[Agent:")


def native(value: Any) -> Iterator[str]:
    """The ids in what a server said."""
    if isinstance(value, dict):
        for name, item in value.items():
            if name in _IDS and isinstance(item, str):
                yield item
            yield from native(item)
    elif isinstance(value, list):
        for item in value:
            yield from native(item)


def ids_of(name: str) -> set[str]:
    """The server's ids in a recording; those that are names (of a network's parts) are none."""
    kept = json.loads((RECORDINGS / f"{name}.json").read_text(encoding="utf-8"))
    found: set[str] = set()
    for exchange in kept["exchanges"]:
        for said in exchange["said"]:
            text = said.removeprefix("data: ").strip().strip("\x1e")
            if text.startswith(("{", "[{")):
                found |= set(native(json.loads(text)))
    return {item for item in found if any(c.isdigit() for c in item)}


@pytest.mark.parametrize("name", SCENARIOS)
async def test_no_id_and_no_error_of_the_server_is_told(name: str) -> None:
    server = Replay(name)
    runs: list[str] = []

    async def noting(request: httpx.Request) -> None:
        body = json.loads(request.content) if request.content else {}
        runs.append(body.get("runId") or request.url.params.get("runId") or "")

    hooks = {"request": [noting]}
    async with httpx.AsyncClient(transport=server, event_hooks=hooks) as client:
        events = await events_of(name, SCENARIOS[name], "http://mastra.test", client)
    told = json.dumps(events, ensure_ascii=False)

    # The recorded run ids come back as those of this run, which are native, too.
    wanted = ids_of(name) | {run for run in runs if run}
    assert len(wanted) >= 1
    assert [item for item in wanted if item in told] == []
    assert [word for word in _INSIDE if word in told] == []
