"""An adapter whose framework took an answer and broke off: nobody is told of a failure."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from agui_bridge.adapters import Ask, Pause, Run, RunItem
from agui_bridge.errors import OutcomeUnknown
from agui_bridge.protocol.answers.unexecuted import FAILED, FAILED_AMID
from agui_bridge.protocol.threads.records import InterruptStatus
from tests.support.agents import Bench, Scripted, approval, outcome

CONFIRMATION = Ask("q", "confirmation", "Sure?")


class Losing(Scripted):
    """Asks, and loses its framework when it is answered.

    Attributes:
        taken: the answers that the framework took.
    """

    def __init__(self, ask: Ask, *, begun: bool = True) -> None:
        super().__init__(self._script)
        self.taken: list[object] = []
        self._ask = ask
        self._begun = begun

    async def _script(self, run: Run) -> AsyncIterator[RunItem]:
        if run.resume is not None:
            self.taken.append(run.resume.decisions)
            yield "On it. "
            if not self._begun and self._ask.tool_call is not None:
                run.not_begun = {self._ask.tool_call.id}
            raise OutcomeUnknown("The framework is gone.")
        if run.text == "go":
            yield Pause([self._ask], None)
        else:
            yield "Welcome."


@pytest.mark.parametrize(
    ("adapter", "payload", "status", "said"),
    [
        (Losing(CONFIRMATION), {"confirm": True}, InterruptStatus.INDETERMINATE, None),
        (Losing(CONFIRMATION), {"confirm": False}, InterruptStatus.INDETERMINATE, None),
        (Losing(approval()), {"approved": True}, InterruptStatus.INDETERMINATE, FAILED_AMID),
        (
            Losing(approval(), begun=False),
            {"approved": True},
            InterruptStatus.CANCELLED,
            FAILED,
        ),
    ],
    ids=["yes", "no", "approved", "approved and never begun"],
)
async def test_an_answer_that_a_framework_took_and_lost_is_unknown_and_not_given_again(
    adapter: Losing, payload: dict[str, bool], status: InterruptStatus, said: str | None
) -> None:
    async with Bench(adapter).open() as bench:
        asked = await bench.ask()
        entries = bench.entries(asked, payload)
        first = await bench.say(resume=entries)
        again = await bench.say(resume=entries)
        loaded = await bench.load(asked[0]["id"])
        assert outcome(await bench.say("more")) == "success"
    assert (outcome(first), outcome(again)) == ("RUN_INDETERMINATE", "RUN_INDETERMINATE")
    assert first[-1]["message"] == "The framework is gone."
    assert "taken before" in again[-1]["message"] and "unknown" in again[-1]["message"]
    assert loaded.interrupts[asked[0]["id"]].status is status
    results = [m.message["content"] for m in loaded.messages if m.message["role"] == "tool"]
    assert results == ([said] if said else [])
    assert len(adapter.taken) == 1
