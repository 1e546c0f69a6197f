"""Mastra and the bridge start again between a question and its answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.mastra import APPROVE, CONFIRM, DECLINE, Talk, bridge_before, fresh, ran
from tests.support.mastra import MastraProcess

PAUSES: list[tuple[str, str, Any, int]] = [
    ("approval-agent", "delete {n}", APPROVE, 1),
    ("approval-agent", "delete {n}", DECLINE, 0),
    ("suspend-agent", "refund {n}", CONFIRM, 1),
    ("supervisor", "agent delete {n}", APPROVE, 1),
    ("supervisor", "agent refund {n}", CONFIRM, 1),
    ("routing-agent", "delete {n}", APPROVE, 1),
    ("routing-agent", "agent delete {n}", APPROVE, 1),
    ("routing-agent", "refund {n}", CONFIRM, 1),
    ("routing-agent", "workflow {n}", CONFIRM, 1),
    ("refundWorkflow", '{{"amount": {n}}}', CONFIRM, 1),
    ("durable-agent", "delete {n}", APPROVE, 1),
    ("durable-agent", "delete {n}", DECLINE, 0),
    ("durable-agent", "refund {n}", CONFIRM, 1),
    ("evented-agent", "delete {n}", APPROVE, 1),
    ("durable-supervisor", "agent delete {n}", APPROVE, 1),
]


@pytest.mark.timeout(180)  # It starts the server twice, and each pause runs at it twice.
async def test_every_pause_survives_a_restart_of_both_and_executes_once(tmp_path: Path) -> None:
    mastra = MastraProcess(tmp_path)
    store = f"sqlite:///{tmp_path / 'bridge.db'}"
    asked: list[tuple[str, str, int, Any, Any, int]] = []
    with mastra.running():
        bridge = bridge_before(mastra, store)
        async with bridge.lifespan():
            for agent, prompt, answer, times in PAUSES:
                n = fresh()
                talk = Talk(bridge, agent)
                ask = await talk.asked(prompt.format(n=n))
                asked.append((agent, talk.thread, n, ask, answer, times))
            unreached = asked[0]
    # The bridge is there before Mastra is: nothing is delivered, and nothing is lost.
    bridge = bridge_before(mastra, store)
    async with bridge.lifespan():
        agent, thread, _, ask, answer, _ = unreached
        talk = Talk(bridge, agent, thread)
        assert await talk.resume(ask, answer) == "UPSTREAM_ERROR"
        assert "can't be reached" in talk.events[-1]["message"]
        with mastra.running():
            for agent, thread, n, ask, answer, times in asked:
                talk = Talk(bridge, agent, thread)
                assert await talk.resume(ask, answer) == "success", (agent, talk.events[-1])
                assert await talk.resume(ask, answer) == "success"
                assert len(ran(mastra, n)) == times, agent


async def test_without_storage_the_error_names_it_and_nothing_executes(tmp_path: Path) -> None:
    mastra = MastraProcess(tmp_path, storage=False)
    bridge = bridge_before(mastra, f"sqlite:///{tmp_path / 'bridge.db'}")
    async with bridge.lifespan():
        asked: list[tuple[Talk, int, Any]] = []
        with mastra.running():
            for agent, prompt, answer in (
                ("approval-agent", "delete {n}", APPROVE),
                ("suspend-agent", "refund {n}", CONFIRM),
                ("routing-agent", "delete {n}", APPROVE),
                ("refundWorkflow", '{{"amount": {n}}}', CONFIRM),
            ):
                n, talk = fresh(), Talk(bridge, agent)
                await talk.say(prompt.format(n=n))
                assert talk.ending == "interrupt"
                asked.append((talk, n, answer))
        with mastra.running():
            for talk, n, answer in asked:
                await talk.answer(answer)
                assert talk.ending == "UPSTREAM_ERROR"
                assert "storage provider" in talk.events[-1]["message"], talk.events[-1]
                assert ran(mastra, n) == []
