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


def pay(amount: int) -> None:
    raise AssertionError(f"{amount} was paid, and nobody was asked")


WRONG: Final[dict[str, Call]] = {
    r"run.approve\('pay', …\): `fn` takes no such arguments: got an unexpected": lambda run: (
        run.approve("pay", {"n": 1}, fn=pay)
    ),
    r"run.ask\(message=…\) must be a str, not the class int": lambda run: run.ask(int),
    r"run.confirm\(message=…\) must be a str, not int 5": lambda run: run.confirm(5),
    r"run.decide\(message=…\) must be a str, not None": lambda run: run.decide(None),
    r"run.approve\(name=…\) must be a str, not int 7": lambda run: run.approve(7, {}),
    r"run.step\(name=…\) must be a str": lambda run: run.step(print, print),
    r"run.frontend_tool\(name=…\) must be a str": lambda run: run.frontend_tool(b"t", {}),
    r"run.ask\(key=…\) must be a str or None, not int 5": lambda run: run.ask("?", key=5),
    r"run.ask\(reason=…\) must be a str, not int 3": lambda run: run.ask("?", reason=3),
    r"run.ask\(expires_in=…\) must be a number or None": lambda run: run.ask(
        "?", expires_in="soon"
    ),
    "Ask.expires_in must be": lambda run: run.approve("t", {}, expires_in=-1),
    r"run.confirm\(metadata=…\) must be a mapping": lambda run: run.confirm("?", metadata=["m"]),
    r"run.approve\(message=…\) must be a str or None": lambda run: run.approve(
        "t", {}, message=int
    ),
    r"run.approve\(args=…\) must be a mapping": lambda run: run.approve("t", [1]),
    r"run.approve\(fn=…\) must be a function or None": lambda run: run.approve("t", {}, fn="f"),
    r"run.approve\(parameters=…\) must be a BaseModel class, a mapping or None": lambda run: (
        run.approve("t", {}, parameters="M")
    ),
    r"run.approve\(approvers=…\) must be a list of str or None, not str": lambda run: run.approve(
        "t", {}, approvers="role:admin"
    ),
    r"run.approve\(editable=…\) must be a bool": lambda run: run.approve("t", {}, editable=None),
    r"run.approve\(quorum=…\) must be a whole number or None": lambda run: run.approve(
        "t", {}, quorum=1.5
    ),
    r"run.ask\(schema=…\) must be a type, a mapping or None, not str 'string'": lambda run: run.ask(
        "?", schema="string"
    ),
    r"run.ask\(schema=…\) must be a type that has a JSON form": lambda run: run.ask(
        "?", schema=FunctionAdapter
    ),
    r"run.step\(fn=…\) must be a function, not int 5": lambda run: run.step("s", 5),
    r"run.stream\(source=…\) must be an AsyncIterable or a function": lambda run: run.stream(
        "s", ["a"]
    ),
    r"run.call\(args=…\) must be a mapping": lambda run: run.call("t", "a", print),
    r"run.call\(fn=…\) must be a function": lambda run: run.call("t", {}, "f"),
    r"run.frontend_tool\(args=…\) must be a mapping": lambda run: run.frontend_tool("t", None),
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
    assert "run.ask(message=…) must be a str, not the class int." in caplog.text


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
