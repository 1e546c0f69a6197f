"""What an author's mistake or a raised exception must not do: act twice, leak, end the server."""

import asyncio
import contextlib
import copy
import functools
import itertools
import json
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import pytest

from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.agents.replay.journal import StepFailed
from agui_bridge.errors import (
    AgentMistake,
    ApprovalSpent,
    ConfigurationError,
    NotDelivered,
    UpstreamError,
)
from agui_bridge.protocol.answers.decisions import Approve, Decline
from agui_bridge.protocol.json_values import DEEPEST
from tests.agents.function.harness import Thread, yes

pytestmark = pytest.mark.anyio


def refused() -> None:
    raise NotDelivered("connection refused")


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def leave() -> None:
    sys.exit(3)


def interrupt() -> None:
    raise KeyboardInterrupt


# --- NotDelivered ---


async def by_body(run: FunctionRun) -> None:
    refused()


async def by_step(run: FunctionRun) -> None:
    await run.step("s", refused)


async def by_call(run: FunctionRun) -> None:
    await run.call("c", {}, refused)


async def by_tool(run: FunctionRun) -> None:
    await run.tool(await run.approve("t", {}), refused)


@pytest.mark.parametrize("act", [by_body, by_step, by_call, by_tool])
async def test_not_delivered_out_of_a_function_never_reopens_the_batch(
    act: Callable[[FunctionRun], Any],
) -> None:
    async def agent(run: FunctionRun) -> None:
        await run.confirm("charge?")
        await act(run)

    thread = Thread(lambda: agent)
    await thread.go()
    with pytest.raises(UpstreamError, match=r"^connection refused$") as raised:
        await thread.answer(yes)
        await thread.answer(yes)
    assert isinstance(raised.value.__cause__, NotDelivered)
    assert not isinstance(raised.value, NotDelivered)


# --- approvals ---


async def test_a_tool_executes_the_journal_s_arguments_whatever_the_author_changes() -> None:
    done: list[Any] = []
    seen: list[Any] = []

    async def agent(run: FunctionRun) -> None:
        approval = await run.approve("pay", {"amount": 1, "to": {"name": "a"}})
        with pytest.raises(TypeError, match="read-only"):
            approval.args["amount"] = 1_000_000  # type: ignore[index]  # refused at run time too
        with pytest.raises(TypeError, match="read-only"):
            approval.args.update(amount=2)  # type: ignore[attr-defined]  # refused at run time too
        approval.args["to"]["name"] = "thief"
        object.__setattr__(approval, "args", {**approval.args, "amount": 3})
        await run.tool(approval, lambda **args: done.append(args))
        again = await run.approve("pay", {"amount": 5})
        seen.append([again.args == {"amount": 5}, json.dumps(again.args), dict(again.args)])
        seen.append([copy.deepcopy(again.args), await run.step("s", lambda: again.args)])

    thread = Thread(lambda: agent)
    await thread.go()
    await thread.answer(yes)
    await thread.answer(yes)
    assert done == [{"amount": 1, "to": {"name": "a"}}]
    args = {"amount": 5}
    assert seen == [[True, '{"amount": 5}', args], [args, args]]


async def test_an_approval_of_another_thread_or_a_forged_one_executes_nothing() -> None:
    done: list[int] = []
    kept: list[Any] = []

    async def agent(run: FunctionRun) -> None:
        approval = await run.approve("pay", {})
        kept.append(approval)
        await run.tool(kept[0], lambda: done.append(1))

    async def forge(run: FunctionRun) -> None:
        approval = await run.approve("pay", {})
        object.__setattr__(approval, "approved", True)
        await run.tool(approval, lambda: done.append(2))

    async def none(run: FunctionRun) -> None:
        await run.tool(True, lambda: done.append(3))  # type: ignore[arg-type]  # no approval, on purpose

    first = Thread(lambda: agent)
    await first.go()
    await first.answer(yes)
    for decision in (Decline("no"), Approve({}, {"approved": True})):
        other = Thread(lambda: agent, counter=itertools.count(100))
        await other.go()
        with pytest.raises(ApprovalSpent, match="of another run or thread"):
            await other.answer([decision])
    forged = Thread(lambda: forge)
    await forged.go()
    with pytest.raises(ApprovalSpent, match=r"not approved \(declined\)"):
        await forged.answer([Decline("no")])
    with pytest.raises(ApprovalSpent, match="not bool"):
        await Thread(lambda: none).go()
    assert done == [1]


async def test_what_the_author_does_to_an_answer_does_not_reach_the_next_replay() -> None:
    seen: list[Any] = []

    async def agent(run: FunctionRun) -> None:
        answer = await run.ask("name?")
        seen.append(dict(answer))
        answer["confirm"] = "changed"
        await run.confirm("ok?")

    thread = Thread(lambda: agent)
    await thread.go()
    await thread.answer(yes)
    await thread.answer(yes)
    assert seen == [{"confirm": True}] * 2


# --- failures ---


async def test_a_step_failure_raised_on_a_replay_is_a_plain_agent_error() -> None:
    def fail() -> None:
        raise UpstreamError("postgres://admin:hunter2@db")

    async def agent(run: FunctionRun) -> None:
        try:
            await run.step("db", fail)
        except StepFailed as failure:
            failed = failure
        if await run.confirm("raise?"):
            raise failed

    thread = Thread(lambda: agent)
    await thread.go()
    with pytest.raises(StepFailed) as raised:
        await thread.answer(yes)
    # The engine answers an AgentMistake with a bare AGENT_ERROR.
    assert isinstance(raised.value, AgentMistake)


@pytest.mark.parametrize(("end", "says"), [(leave, r"sys\.exit\(\)"), (interrupt, "Keyboard")])
async def test_sys_exit_in_an_agent_s_code_fails_its_run_only(
    end: Callable[[], None], says: str
) -> None:
    async def asynchronous() -> None:
        end()

    async def body(run: FunctionRun) -> AsyncIterator[str]:
        yield "before"
        end()

    async def step(run: FunctionRun) -> None:
        await run.step("s", end)

    async def tool(run: FunctionRun) -> None:
        await run.call("c", {}, asynchronous)

    for agent in (body, step, tool):
        with pytest.raises(AgentMistake, match=says) as raised:
            await Thread(lambda agent=agent: agent).go()  # type: ignore[misc]  # mypy infers no lambda with a default
        assert isinstance(raised.value.__cause__, SystemExit | KeyboardInterrupt)


async def test_sys_exit_in_a_step_can_be_caught_and_replays_alike() -> None:
    seen: list[tuple[str, str]] = []

    async def agent(run: FunctionRun) -> None:
        try:
            await run.step("s", leave)
        except StepFailed as failure:
            seen.append((failure.error, failure.text))
        await run.confirm("ok?")

    thread = Thread(lambda: agent)
    await thread.go()
    await thread.answer(yes)
    assert len(seen) == 2 and seen[0] == seen[1] and seen[0][0] == "SystemExit"


# --- depth ---


async def test_a_result_at_the_deepest_level_is_equal_on_replay_and_a_deeper_one_refused() -> None:
    seen: list[Any] = []

    async def fits(run: FunctionRun) -> None:
        seen.append(await run.step("s", lambda: nested(DEEPEST)))
        await run.confirm("ok?")

    async def deep(run: FunctionRun) -> None:
        await run.step("s", lambda: {"a": nested(DEEPEST)})

    async def deeper(run: FunctionRun) -> None:
        await run.step("s", lambda: nested(DEEPEST + 120))

    async def argument(run: FunctionRun) -> None:
        await run.call("c", {"a": nested(DEEPEST)}, lambda a: None)

    thread = Thread(lambda: fits)
    await thread.go()
    await thread.answer(yes)
    assert seen == [nested(DEEPEST)] * 2
    for agent in (deep, deeper, argument):
        with pytest.raises(AgentMistake, match=f"deeper than {DEEPEST} levels"):
            await Thread(lambda agent=agent: agent).go()  # type: ignore[misc]  # mypy infers no lambda with a default


# --- what is an agent ---


class Counter:
    """Callable agents of several shapes."""

    async def __call__(self, run: FunctionRun) -> None: ...

    async def method(self, run: FunctionRun) -> AsyncIterator[str]:
        yield "x"


class Sync:
    def __call__(self, run: FunctionRun) -> None: ...


async def two(database: str, run: FunctionRun) -> None: ...


async def none() -> None: ...


def plain(run: FunctionRun) -> str:
    return "x"


@functools.wraps(by_body)
def decorated(*args: Any) -> Any:
    return by_body(*args)


def test_async_functions_methods_partials_and_async_callables_are_agents() -> None:
    partials = functools.partial(two, "db"), functools.partial(functools.partial(two), "db")
    for agent in (by_body, decorated, Counter(), Counter().method, *partials):
        FunctionAdapter(agent)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (plain, "plain is not async"),
        (lambda run: run, "is not async"),
        (Sync(), "Sync is not async"),
        (Counter, "Counter is not async"),
        (functools.partial(plain), "plain is not async"),
        (two, "two.*can't be called with the run alone: missing"),
        (Counter.method, "can't be called with the run alone"),
        (none, "none.*too many positional"),
        (functools.partial(cast(Any, two), "db", None), "too many positional"),
        (7, "int is not callable"),
    ],
)
def test_what_is_no_agent_is_refused_at_once_with_an_example(wrong: Any, says: str) -> None:
    with pytest.raises(ConfigurationError, match=says) as raised:
        FunctionAdapter(wrong)
    assert "async def agent(run):" in str(raised.value)


async def as_condition(run: Any, wipe: Any) -> Any:
    return run.confirm("Delete everything?") and await run.step("wipe", wipe)


async def as_its_opposite(run: Any, wipe: Any) -> Any:
    return not run.approve("keep", {}) or await run.step("wipe", wipe)


async def as_a_result(run: FunctionRun, wipe: Any) -> Any:
    approval: Any = run.approve("wipe", {}, fn=wipe)
    return approval.approved or await run.step("wipe", wipe)


async def by_comparing(run: Any, wipe: Any) -> Any:
    if run.confirm("Delete everything?") != False:  # noqa: E712  # as some write it
        await run.step("wipe", wipe)


async def as_a_text(run: Any, wipe: Any) -> Any:
    return f"Hello {run.ask('Your name?')}"


async def alone(run: Any, wipe: Any) -> Any:
    run.confirm("Delete everything?")
    return await run.step("wipe", wipe)


async def alone_and_swallowed(run: Any, wipe: Any) -> Any:
    run.ask("Which ones?")
    with contextlib.suppress(Exception):
        await run.step("wipe", wipe)
    return "done"


async def at_the_end(run: Any, wipe: Any) -> Any:
    run.step("wipe", wipe)
    return "done"


@pytest.mark.parametrize(
    "agent",
    [
        *(as_condition, as_its_opposite, as_a_result, by_comparing, as_a_text),
        *(alone, alone_and_swallowed, at_the_end),
    ],
)
async def test_a_question_that_was_not_awaited_lets_nothing_begin(agent: Any) -> None:
    wiped: list[str] = []

    def wipe() -> None:
        wiped.append("all")

    with pytest.raises((AgentMistake, AttributeError), match=r"not awaited: write `await run\."):
        await Thread(lambda: functools.partial(agent, wipe=wipe)).go()
    assert wiped == []


async def test_tasks_of_calls_can_be_looked_at_and_calls_be_kept_for_later() -> None:
    async def agent(run: FunctionRun) -> str:
        first, second = run.step("one", lambda: 1), run.step("two", lambda: 2)
        task = asyncio.create_task(run.step("three", lambda: 3, key="a"))
        # As `repr` of a task looks at its coroutine since Python 3.12.
        looked = {"__name__": "asyncio.base_tasks", "task": task}
        before = eval("bool(task.get_coro())", looked)
        await asyncio.sleep(0)
        assert before and repr(task)
        return f"{await first}{await second}{await task}"

    assert (await Thread(lambda: agent).go()).items == ["123"]


async def test_calls_can_be_awaited_by_tasks_groups_and_time_limits() -> None:
    async def agent(run: FunctionRun) -> str:
        async with asyncio.TaskGroup() as group:
            one = group.create_task(run.step("one", lambda: 1, key="a"))
        two, three = await asyncio.gather(
            run.step("two", lambda: 2, key="b"), run.step("three", lambda: 3, key="c")
        )
        four = await asyncio.wait_for(run.step("four", lambda: 4, key="d"), 5)
        return f"{one.result()}{two}{three}{four}"

    assert (await Thread(lambda: agent).go()).items == ["1234"]
