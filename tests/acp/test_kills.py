"""A bridge that is killed around an answer: at most one execution, and none without a yes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.acp.agents import effects_of
from tests.acp.editor import Start, allowed


@pytest.mark.soak
@pytest.mark.parametrize("delay", [0.0, 0.005, 0.02, 0.06])
@pytest.mark.parametrize("option", ["approve", "decline"])
async def test_a_kill_around_an_answer_executes_nothing_twice_and_nothing_unapproved(
    started: Start, folder: Path, option: str, delay: float
) -> None:
    async with started(folder, "asks") as first:
        session = await first.new()
        first.prompt(session, "users").add_done_callback(lambda turn: turn.exception())
        (await first.next()).answer.set_result(allowed(option))
        await asyncio.sleep(delay)
        await first.kill()
    before = effects_of(folder)
    assert before in ([], ["deleted users 7"] if option == "approve" else [])
    async with started(folder, "asks") as second:
        await second.load(session)
        async with asyncio.timeout(40):
            while any(call["status"] == "pending" for call in second.calls().values()):
                if not second.asked.empty():
                    # The answer had not been taken.
                    assert before == []
                    await second.answer(option)
                await asyncio.sleep(0.02)
    after = effects_of(folder)
    if option == "decline":
        assert after == []
    else:
        # A run that was lost amid its tool is told as of unknown outcome, and is not run again.
        assert after in ([], ["deleted users 7"])
        assert len(after) >= len(before)
