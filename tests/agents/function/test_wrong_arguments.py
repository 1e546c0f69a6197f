"""A call of `run.*` with an argument of another type: a fault at once, never a run that hangs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import pytest

from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.function.execution import FunctionExecution
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.errors import AgentMistake
from tests.agents.function.harness import Thread
from tests.support.agents import Bench, outcome

pytestmark = pytest.mark.anyio

Call = Callable[[Any], Awaitable[Any]]

WRONG: Final[dict[str, Call]] = {
    "The message of run.ask must be a str": lambda run: run.ask(int),
    "The message of run.ask must be a str, not 5": lambda run: run.confirm(5),
    "The message of run.ask must be a str, not None": lambda run: run.decide(None),
    "The name of run.approve must be a str": lambda run: run.approve(7, {}),
    "The name of run.step must be a str": lambda run: run.step(print, print),
    "The name of run.frontend_tool must be": lambda run: run.frontend_tool(b"t", {}),
    r"The key of run.ask\('\?'\) must be a str, not 5": lambda run: run.ask("?", key=5),
    "Ask.reason must be a str, not int 3": lambda run: run.ask("?", reason=3),
    "Ask.expires_in must be 0 to": lambda run: run.ask("?", expires_in="soon"),
    "Ask.expires_in must be": lambda run: run.approve("t", {}, expires_in=-1),
    "Ask.metadata must be a mapping": lambda run: run.confirm("?", metadata=["m"]),
    "Ask.message must be a str or None": lambda run: run.approve("t", {}, message=int),
}


@pytest.mark.parametrize(("fault", "call"), WRONG.items(), ids=WRONG)
async def test_a_wrong_argument_is_a_fault_at_the_call(fault: str, call: Call) -> None:
    async def agent(run: FunctionRun) -> None:
        with pytest.raises(AgentMistake, match=fault):
            await call(run)

    assert (await Thread(lambda: agent).go()).final is None


async def test_a_class_for_a_message_ends_the_run_at_once_and_not_the_thread(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield "I ask. "
        if run.text == "go":
            await run.ask(int)  # type: ignore[call-overload]  # wrong on purpose

    bench = Bench(FunctionAdapter(agent))
    async with asyncio.timeout(5):
        assert outcome(await bench.say("go")) == "AGENT_ERROR"
        assert outcome(await bench.say("more")) == "success"
    assert "The message of run.ask must be a str, not <class 'int'>." in caplog.text


async def test_what_fails_while_the_pause_is_made_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(execution: FunctionExecution) -> None:
        raise LookupError("the pause can't be made")

    async def agent(run: FunctionRun) -> None:
        await run.confirm("Go on?")

    # Nothing real is known to fail there: whatever does one day must reach somebody.
    monkeypatch.setattr(FunctionExecution, "_pause", fail)
    with pytest.raises(LookupError, match="the pause can't be made"):
        await Thread(lambda: agent).go()
