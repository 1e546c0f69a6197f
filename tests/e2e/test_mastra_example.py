"""examples/mastra before the real server: what the samples print, and what they execute."""

from __future__ import annotations

import asyncio
import importlib
import sys

import pytest

from tests.e2e.mastra import Talk, bridge_before, ran
from tests.support.mastra import MastraProcess
from tests.support.server import serve

CONVERSATION = """\
User:  Delete the old records
Agent: Please confirm: delete old records
       [input_required] Please confirm: delete old records
User:  Yes, confirmed
Tool:  {"confirmed": true, "action": "delete old records"}
Agent: Records deleted successfully
"""


async def test_the_samples_run(
    mastra: MastraProcess, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MASTRA_URL", mastra.url)
    for name in ("examples.mastra", "examples.mastra.agents"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    agents = importlib.import_module("examples.mastra.agents")
    samples = importlib.import_module("examples.mastra.samples")
    before = len(ran(mastra, "delete old records"))
    async with serve(agents.bridge.app(anonymous=True)) as url:
        await asyncio.to_thread(samples.run_samples, url)
    printed = capsys.readouterr().out

    assert 'Tool:  {"deleted": true, "id": "42"}' in printed
    assert "it was not executed. Reason: Keep it." in printed
    assert printed.count(CONVERSATION) == 2
    assert printed.count("Records deleted successfully") == 4
    assert len(ran(mastra, "delete old records")) - before == 4
    assert len(ran(mastra, 43)) == 0


async def test_the_conversation_of_the_seed_with_a_single_agent(mastra: MastraProcess) -> None:
    bridge = bridge_before(mastra, auto_resume="on")
    before = len(ran(mastra, "delete old records"))
    async with bridge.lifespan():
        talk = Talk(bridge, "records-agent")
        assert await talk.say("Delete the old records") == "Please confirm: delete old records"
        assert await talk.say("Yes, confirmed") == "Records deleted successfully"

    assert len(ran(mastra, "delete old records")) - before == 1
