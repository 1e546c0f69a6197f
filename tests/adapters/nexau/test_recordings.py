"""Every recording of a real NexAU, replayed to the adapter behind the engine."""

from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from agui_bridge.engine.input.submission import Agent, Submission
from agui_bridge.protocol.dialects import parse_input
from agui_bridge.protocol.threads.records import Principal, ThreadKey
from agui_bridge_nexau import NexauAdapter
from tests.adapters.nexau.recordings import GOLDEN, RECORDINGS, Exchange, Recording, Replay
from tests.support.agents import Bench, Reader
from tests.support.server import serve

SCALE = 0.02
"""Of the recorded times: the longest case takes a fifth of a second."""

WITHOUT_STREAM = {"06_stop_unknown_session", "13b_permission_resolve_in_process"}
"""They hold answers to stops, or calls inside of NexAU's process."""

_MINTED = re.compile(r"[0-9a-f]{32}|[A-Za-z0-9_-]{22}")
_NAMED = ("chatcmpl-", "call_")


class Ids:
    """Names minted ids in the order of their appearance."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def named(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self.named(member) for key, member in value.items()}
        if isinstance(value, list):
            return [self.named(item) for item in value]
        if isinstance(value, str) and _MINTED.fullmatch(value) and not value.startswith(_NAMED):
            return self._seen.setdefault(value, f"minted-{len(self._seen) + 1}")
        return value


def texts_of(messages: Any) -> list[str]:
    """The texts of recorded messages, which are a text or a list."""
    if isinstance(messages, str):
        return [messages]
    return [
        "".join(part["text"] for part in message["content"])
        for message in messages
        if message["role"] == "user"
    ]


async def carried_out(recording: Recording, replay: Replay, base: str) -> list[dict[str, Any]]:
    """Carry out each recorded exchange as a run of its own thread, as its client did."""
    told: list[dict[str, Any]] = []
    adapter = NexauAdapter(base, busy_patience=0.0, drain_timeout=5.0)
    bench, ids = Bench(adapter, cancel_grace=2.0, acts_on_state=True), Ids()
    try:
        for number, exchange in enumerate(recording.exchanges):
            thread = str(exchange.body.get("session_id") or f"new-{number}")
            key = ThreadKey("default", "agent", thread)
            waiting = (await bench.store.load(key)).batch_interrupts()
            call = _call(bench, exchange, thread, number, [ask.id for ask in waiting])
            reader = Reader(*bench.engine.submit(call))
            stopped = await _stops(bench, key, exchange, replay, reader)
            events = await reader.rest()
            stored = await bench.store.load(key, messages=True)
            told.append(
                ids.named(
                    {
                        "what": exchange.what,
                        "sent": replay.sent[-1]["messages"],
                        "stopped": stopped,
                        "events": events,
                        "messages": [m.message for m in stored.messages],
                    }
                )
            )
    finally:
        await adapter.aclose()
    return told


def _call(
    bench: Bench, exchange: Exchange, thread: str, number: int, asks: list[str]
) -> Submission:
    texts = texts_of(exchange.body["messages"])
    body: dict[str, Any] = {
        "threadId": thread,
        "runId": f"run-{number}",
        "protocolVersion": "1.0",
        "messages": [],
    }
    if asks:
        payload = {"answer": texts[0]}
        body["resume"] = [
            {"interruptId": ask, "status": "resolved", "payload": payload} for ask in asks
        ]
    else:
        body["messages"] = [
            {"id": f"u{number}-{place}", "role": "user", "content": text}
            for place, text in enumerate(texts)
        ]
    agent: Agent = bench.agent
    return Submission(agent, Principal(), parse_input(body), "continue")


async def _stops(
    bench: Bench, key: ThreadKey, exchange: Exchange, replay: Replay, reader: Reader
) -> Any:
    """Send the stops that were recorded, where they were."""
    if not exchange.stops:
        return None
    async with asyncio.timeout(10):
        await replay.at_stop.wait()
        while replay.before_stop not in reader.text:
            await reader.step()
    results = await asyncio.gather(
        *(
            bench.engine.stop(key, force=stop["body"].get("force", False), timeout=10)
            for stop in exchange.stops
        )
    )
    return [
        {"status": r.status, "partial": r.partial_response, "iteration": r.interrupted_at_iteration}
        for r in results
    ]


@pytest.mark.parametrize("path", RECORDINGS, ids=[path.stem for path in RECORDINGS])
async def test_a_recording_becomes_the_expected_stream(path: Path) -> None:
    recording = Recording(path)
    if not recording.exchanges:
        assert recording.name in WITHOUT_STREAM | {"14_query_ok_error_and_stop"}
        return
    replay = Replay(recording, SCALE)
    async with serve(replay.app, lifespan="off") as base:
        told = await carried_out(recording, replay, base)
    expected = GOLDEN / "expected" / f"{path.stem}.json"
    if os.environ.get("UPDATE_GOLDEN"):
        expected.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")
    assert told == json.loads(expected.read_text())


def test_each_expectation_has_its_recording() -> None:
    names = {path.stem for path in (GOLDEN / "expected").glob("*.json")}
    assert names == {path.stem for path in RECORDINGS if Recording(path).exchanges}
