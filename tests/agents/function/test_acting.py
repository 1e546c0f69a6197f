"""Steps, streams, calls and tools happen once in all runs."""

import asyncio
import functools
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from ag_ui.core import CustomEvent, ToolCallEndEvent, ToolCallStartEvent
from pydantic import BaseModel

from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.agents.replay.journal import StepFailed
from agui_bridge.errors import AgentMistake, ConfigurationError
from tests.agents.function.harness import Thread, items_of, make_run, yes

pytestmark = pytest.mark.anyio


async def once(agent: Any) -> Any:
    return await Thread(lambda: agent).go()


async def test_a_generator_s_text_and_events_go_out_in_order() -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[Any]:
        yield "a"
        yield CustomEvent(name="n", value=1)
        yield "b"

    assert (await once(agent)).wire == ["a", ("CUSTOM", "n", 1), "b"]


async def test_a_function_s_returned_text_is_text_and_another_value_the_result() -> None:
    async def text(run: FunctionRun) -> str:
        return "hi"

    async def value(run: FunctionRun) -> Any:
        return {"rows": (1, 2)}

    async def nothing(run: FunctionRun) -> None:
        run.result = [1]

    assert (await once(text)).items == ["hi"]
    assert (await once(value)).run.result == {"rows": [1, 2]}
    done = await once(nothing)
    assert (done.items, done.run.result) == ([], [1])


async def test_what_is_no_agent_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        FunctionAdapter(7)  # type: ignore[arg-type]  # no function, on purpose

    async def bad(run: FunctionRun) -> AsyncIterator[Any]:
        yield 7

    with pytest.raises(AgentMistake, match="not int"):
        await once(bad)

    @functools.wraps(quiet)
    def sync(run: FunctionRun) -> Any:
        return 7

    with pytest.raises(AgentMistake, match="returned int"):
        await once(sync)


async def test_an_error_of_the_author_s_code_comes_out_unchanged_after_what_was_emitted() -> None:
    error = ValueError("boom")

    async def agent(run: FunctionRun) -> AsyncIterator[Any]:
        yield "before"
        raise error

    thread = Thread(lambda: agent)
    seen = []
    with pytest.raises(ValueError) as raised:
        async for item in FunctionAdapter(agent).run((await Thread(lambda: quiet).go()).run):
            seen.append(item)
    assert (raised.value, seen, thread.last) == (error, ["before"], None)


async def quiet(run: FunctionRun) -> None:
    pass


async def test_a_step_runs_once_and_returns_the_same_json_each_time() -> None:
    class Row(BaseModel):
        id: int

    @dataclass
    class Page:
        rows: tuple[Row, ...]

    done: list[str] = []
    returned: list[Any] = []

    def fetch(size: int, *, offset: int) -> Page:
        done.append(threading.current_thread().name)
        return Page((Row(id=size), Row(id=offset)))

    async def agent(run: FunctionRun) -> None:
        page = await run.step("fetch", fetch, 2, offset=3)
        returned.append(page)
        page["rows"].clear()
        await run.confirm("ok?")

    thread = Thread(lambda: agent)
    await thread.go()
    await thread.answer(yes)
    assert len(done) == 1 and done[0] != threading.main_thread().name
    assert returned == [{"rows": []}, {"rows": []}]
    assert thread.last is not None and thread.last.final is None


async def test_a_step_takes_async_functions_and_lambdas_that_return_coroutines() -> None:
    async def get(n: int) -> int:
        return n

    async def agent(run: FunctionRun) -> str:
        return str([await run.step("a", get, 1), await run.step("b", lambda: get(2))])

    assert (await once(agent)).items == ["[1, 2]"]


async def test_arguments_and_results_without_a_json_form_are_refused_with_the_call_s_name() -> None:
    async def argument(run: FunctionRun) -> None:
        await run.step("count", print, object())

    async def result(run: FunctionRun) -> None:
        await run.step("count", object)

    with pytest.raises(AgentMistake, match=r"run\.step\('count'\) has no JSON form"):
        await once(argument)
    with pytest.raises(AgentMistake, match=r"result of run\.step\('count'\) has no JSON form"):
        await once(result)


async def test_a_failure_is_step_failed_at_the_first_run_and_at_the_replay() -> None:
    causes: list[Any] = []
    calls: list[int] = []

    def fail() -> None:
        calls.append(1)
        raise ValueError("boom")

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        for _ in range(2):
            try:
                await run.step("risky", fail)
            except StepFailed as failure:
                causes.append((failure.error, failure.text, type(failure.__cause__)))
        await run.confirm("go on?")
        yield "done"

    thread = Thread(lambda: agent)
    await thread.go()
    assert (await thread.answer(yes)).text == "done"
    first = ("ValueError", "boom", ValueError)
    again = ("ValueError", "boom", type(None))
    assert (causes, len(calls)) == ([first, first, again, again], 2)


async def test_an_uncaught_failure_ends_the_run_with_the_original() -> None:
    async def agent(run: FunctionRun) -> None:
        await run.step("x", lambda: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        await once(agent)


async def test_a_stream_is_text_and_is_never_read_again() -> None:
    opened: list[int] = []

    async def model() -> AsyncIterator[str]:
        opened.append(1)
        yield "Hel"
        yield "lo"

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        text = await run.stream("greet", model)
        await run.confirm("ok?")
        yield f" {text}!"

    thread = Thread(lambda: agent)
    assert (await thread.go()).items == ["Hel", "lo"]
    assert (await thread.answer(yes)).items == [" Hello!"]
    assert opened == [1]


async def test_a_stream_takes_an_iterable_and_an_async_function_and_refuses_other_chunks() -> None:
    async def model(*chunks: Any) -> AsyncIterator[Any]:
        for chunk in chunks:
            yield chunk

    async def connect() -> AsyncIterator[str]:
        return model("b")

    async def agent(run: FunctionRun) -> None:
        await run.stream("one", model("a"))
        await run.stream("two", connect)
        await run.stream("three", model(3))

    with pytest.raises(TypeError, match="not int"):
        await once(agent)


async def test_a_streamed_call_with_the_id_of_an_earlier_one_is_refused() -> None:
    executed: list[str] = []

    async def model() -> AsyncIterator[Any]:
        yield ToolCallStartEvent(tool_call_id="pay:0", tool_call_name="pay")
        yield ToolCallEndEvent(tool_call_id="pay:0")

    async def agent(run: FunctionRun) -> None:
        await run.stream("reply", model)
        await run.call("pay", {}, lambda: executed.append("paid"), call_id="pay:0")

    await items_of(FunctionAdapter(agent), make_run())
    with pytest.raises(AgentMistake, match="'pay:0' of an earlier call"):
        await items_of(FunctionAdapter(agent), make_run(known_calls=["pay:0"]))
    assert executed == ["paid"]


async def test_a_long_stream_is_held_back_by_a_slow_reader() -> None:
    produced: list[int] = []

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        for n in range(5000):
            produced.append(n)
            yield "x"

    stream = FunctionAdapter(agent).run((await once(quiet)).run)
    await anext(stream)
    for _ in range(50):
        await asyncio.sleep(0)
    assert len(produced) <= 256
    await stream.aclose()


async def test_a_call_is_on_the_wire_once() -> None:
    done: list[str] = []

    def search(query: str) -> dict[str, str]:
        done.append(query)
        return {"hit": "é"}

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        hit = await run.call("search", {"query": "q"}, search)
        await run.confirm("ok?")
        yield str(hit)

    thread = Thread(lambda: agent)
    assert (await thread.go()).wire == [
        ("TOOL_CALL_START", "id0", "search"),
        ("TOOL_CALL_ARGS", "id0", '{"query":"q"}'),
        ("TOOL_CALL_END", "id0"),
        ("TOOL_CALL_RESULT", "id0", '{"hit":"é"}'),
    ]
    assert (await thread.answer(yes)).wire == ["{'hit': 'é'}"]
    assert done == ["q"]


async def test_a_failed_call_says_so_without_internals() -> None:
    def fail() -> None:
        raise ValueError("password=1234")

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        try:
            await run.call("search", {}, fail)
        except StepFailed:
            yield "caught"

    assert (await once(agent)).wire[-2:] == [
        ("TOOL_CALL_RESULT", "id0", "The tool failed: ValueError"),
        "caught",
    ]


async def test_a_call_inside_a_step_is_an_error_that_names_both() -> None:
    async def agent(run: FunctionRun) -> None:
        async def inner() -> None:
            await run.confirm("sure?")

        await run.step("outer", inner)

    with pytest.raises(AgentMistake, match=r"run\.ask\('sure\?'.*inside run\.step\('outer'\)"):
        await once(agent)


async def test_a_step_that_the_author_times_out_is_not_repeated_and_times_out_again() -> None:
    begun: list[int] = []

    async def slow() -> None:
        begun.append(1)
        await asyncio.sleep(60)

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        try:
            async with asyncio.timeout(0.01):
                await run.step("slow", slow)
        except TimeoutError:
            pass
        await run.confirm("go on?")
        yield "done"

    thread = Thread(lambda: agent)
    await thread.go()
    assert (await thread.answer(yes)).text == "done"
    assert begun == [1]


async def test_a_call_that_the_author_times_out_still_has_a_result_on_the_wire() -> None:
    begun = asyncio.Event()

    async def slow() -> None:
        begun.set()
        await asyncio.sleep(60)

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        call = asyncio.ensure_future(run.call("slow", {}, slow))
        await begun.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        yield "timed out"

    *_, result, text = (await once(agent)).wire
    assert result[0] == "TOOL_CALL_RESULT" and "cancelled" in result[-1]
    assert text == "timed out"


async def test_long_arguments_are_told_apart_by_their_digest() -> None:
    done: list[str] = []

    async def agent(run: FunctionRun) -> None:
        for end in "ab":
            await run.step("x", done.append, "x" * 10_000 + end)
        await run.confirm("ok?")

    thread = Thread(lambda: agent)
    pause = (await thread.go()).pause
    assert len(str(pause.continuation)) < 3000
    await thread.answer(yes)
    assert len(done) == 2


async def test_an_agent_may_run_another_one_within_its_own_step() -> None:
    async def inner(run: FunctionRun) -> str:
        return str(await run.step("x", lambda: 1))

    async def agent(run: FunctionRun) -> str:
        async def call() -> str:
            return (await Thread(lambda: inner).go()).text

        return f"{await run.step('inner', call)}{await run.step('x', lambda: 2)}"

    assert (await once(agent)).text == "12"
