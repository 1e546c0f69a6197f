"""Bridge and agent killed around an answer: at most one execution, and none without a yes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from tests.adapters.acp.bench import Bench
from tests.adapters.acp.killed import bridge_of, have_asked
from tests.docs.pages import Conversation
from tests.support.forks import fork_talking
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.timeout(240)

YES = {"approved": True}
V2 = {"version": "v2.0"}


@contextmanager
def asking(bench: Bench) -> Iterator[tuple[BaseProcess, Connection]]:
    """A bridge in a process of its own."""
    process, line = fork_talking(have_asked, str(bench.folder))
    try:
        yield process, line
    finally:
        process.kill()
        process.join(PATIENCE)
        line.close()


@pytest.mark.soak
@pytest.mark.parametrize("payload", [YES, {"approved": False}], ids=["approved", "declined"])
@pytest.mark.parametrize("victim", ["bridge", "both"])
async def test_a_question_outlives_whoever_asked_it(
    tmp_path: Path, victim: str, payload: dict[str, bool]
) -> None:
    bench = Bench(tmp_path)
    with asking(bench) as (process, line):
        events = await asyncio.to_thread(line.recv)
        process.kill()
        if victim == "both":
            await bench.kill_agents()
    # An agent ends with the bridge that started it.
    await bench.until_nobody_lives()
    assert bench.effects == []
    bridge = bridge_of(bench)
    talk = Conversation(bridge, "coder")
    talk.events = events
    (ask,) = talk.asks
    await talk.answer(payload)
    assert bench.effects == ([V2] if payload is YES else [])
    results = [e for e in talk.events if e["type"] == "TOOL_CALL_RESULT"]
    assert [e["toolCallId"] for e in results] == [ask["toolCallId"]]
    await bridge.aclose()


@pytest.mark.soak
@pytest.mark.parametrize("moment", ["claimed", "executed"])
async def test_an_answer_whose_bridge_is_killed_is_not_carried_out_twice(
    tmp_path: Path, moment: str
) -> None:
    bench = Bench(tmp_path)
    with asking(bench) as (process, line):
        events = await asyncio.to_thread(line.recv)
        line.send("answer")
        if moment == "executed":
            await eventually(lambda: bench.effects, 4 * PATIENCE)
        else:
            await eventually(lambda: (bench.folder / "allowed").exists(), 4 * PATIENCE)
        process.kill()
    await bench.until_nobody_lives()
    done = bench.effects
    assert done in ([], [V2])
    bridge = bridge_of(bench)
    talk = Conversation(bridge, "coder")
    talk.events = events
    (ask,) = talk.asks
    await talk.answer(YES)
    if (code := talk.events[-1].get("code")) is None:
        # Its result had been stored.
        assert done == [V2]
    else:
        assert code == "RUN_INDETERMINATE"
    assert bench.effects == done
    await talk.say("hello")
    snapshot = [e for e in talk.events if e["type"] == "MESSAGES_SNAPSHOT"][-1]["messages"]
    (told,) = [m["content"] for m in snapshot if m.get("toolCallId") == ask["toolCallId"]]
    assert "unknown" in told or done == [V2]
    await bridge.aclose()
