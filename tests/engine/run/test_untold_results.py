"""A call that was approved, whose result the framework has not told when a later question ends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agui_bridge.adapters import Pause, Run, RunItem
from tests.support.agents import Bench, Scripted, approval, call_events, outcome


async def one_after_the_other(run: Run) -> AsyncIterator[RunItem]:
    """Asks about two calls in turn, and would tell both results at the end."""
    if run.resume is None and run.text == "go":
        for item in [
            *call_events("a", "send", '{"to":"a"}'),
            *call_events("b", "send", '{"to":"b"}'),
        ]:
            yield item
        yield Pause([approval("a")])
    elif run.resume is not None:
        yield Pause([approval("b")])


@pytest.mark.parametrize(("how", "says"), [("expired", "is over"), ("stopped", "was stopped")])
async def test_its_outcome_is_said_to_be_unknown_and_not_that_it_was_not_executed(
    how: str, says: str
) -> None:
    bench = Bench(Scripted(one_after_the_other), expires_in=0.0 if how == "expired" else None)
    # The first question has to be answered in time.
    first = Bench(bench.adapter, store=bench.store)
    asked = await first.ask()
    ends = await bench.say(resume=bench.entries(asked))
    assert outcome(ends) == "interrupt"
    if how == "stopped":
        await bench.engine.stop(bench.KEY)
    await bench.say("next")

    results: dict[str, Any] = {
        m.message["toolCallId"]: m.message["content"]
        for m in await bench.stored()
        if m.message["role"] == "tool"
    }
    assert "whether this tool call was executed is unknown" in results["a"]
    assert says in results["b"]
    assert "not executed" in results["b"]
