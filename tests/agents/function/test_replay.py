"""Keys that can't be misrouted, replays that take another path, and continuations refused."""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agui_bridge.adapters import Resume
from agui_bridge.agents.function import execution
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.errors import AmbiguousKey, ReplayMismatch
from tests.agents.function.harness import Thread, yes

pytestmark = pytest.mark.anyio


async def pause_a(run: FunctionRun) -> None:
    await run.confirm("a?")


async def test_equal_calls_of_one_task_are_told_apart_by_order_whatever_else_runs() -> None:
    done: list[str] = []

    async def steps(run: FunctionRun, name: str) -> None:
        for n in range(3):
            done.append(f"{name}{await run.step(name, lambda n=n: n)}")
            await run.confirm(name)

    async def agent(run: FunctionRun) -> None:
        await asyncio.gather(steps(run, "x"), steps(run, "y"))

    thread = Thread(lambda: agent)
    await thread.go()
    for _ in range(3):
        done.clear()
        await thread.answer(yes)
    assert sorted(done) == ["x0", "x1", "x2", "y0", "y1", "y2"]


async def fast(run: FunctionRun) -> None:
    await run.step("x", lambda: 1)


async def late(run: FunctionRun) -> None:
    await asyncio.sleep(0.05)
    await run.step("x", lambda: 1)


async def after_a_step(run: FunctionRun) -> None:
    await run.step("y", asyncio.sleep, 0.05)
    await run.step("x", lambda: 1)


@pytest.mark.parametrize("other", [fast, late, after_a_step])
@pytest.mark.parametrize("style", ["gather", "group", "parent"])
async def test_equal_calls_of_two_live_tasks_need_a_key_even_if_one_finished_before(
    other: Callable[..., Any], style: str
) -> None:
    async def agent(run: FunctionRun) -> None:
        if style == "gather":
            await asyncio.gather(fast(run), other(run))
        elif style == "group":
            async with asyncio.TaskGroup() as group:
                group.create_task(fast(run))
                group.create_task(other(run))
        else:
            task = asyncio.create_task(fast(run))
            await other(run)
            await task

    with pytest.raises((AmbiguousKey, ExceptionGroup)) as raised:
        await Thread(lambda: agent).go()
    error: BaseException = raised.value
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, AmbiguousKey)
    assert "run.step('x')" in str(error) and "key=" in str(error)


async def test_a_task_started_after_an_equal_call_needs_no_key() -> None:
    done: list[int] = []

    async def agent(run: FunctionRun) -> None:
        await run.step("x", lambda: done.append(1))
        await asyncio.create_task(run.step("x", lambda: done.append(2)))
        await run.confirm("ok?")

    thread = Thread(lambda: agent)
    await thread.go()
    await thread.answer(yes)
    assert done == [1, 2]


async def test_a_key_tells_equal_calls_of_parallel_tasks_apart() -> None:
    done: list[int] = []

    async def one(run: FunctionRun, n: int) -> bool:
        await run.step("x", lambda: done.append(n), key=str(n))
        return await run.confirm("same?", key=str(n))

    async def agent(run: FunctionRun) -> str:
        return str(await asyncio.gather(*(one(run, n) for n in range(3))))

    thread = Thread(lambda: agent)
    assert len((await thread.go()).pause.asks) == 3
    assert (await thread.answer(yes)).text == "[True, True, True]"
    assert sorted(done) == [0, 1, 2]


async def test_yields_are_counted_not_compared() -> None:
    words = iter("abcdef")

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield next(words)
        yield next(words)
        await run.confirm("ok?")
        yield next(words)

    thread = Thread(lambda: agent)
    assert (await thread.go()).text == "ab"
    assert (await thread.answer(yes)).text == "e"


async def test_fewer_progress_dots_on_a_replay_swallow_nothing_that_is_new() -> None:
    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        task = asyncio.create_task(run.step("slow", asyncio.sleep, 0.05))
        while not task.done():
            yield "."
            await asyncio.sleep(0.005)
        await run.confirm("ok?")
        yield "done"

    thread = Thread(lambda: agent)
    assert set((await thread.go()).text) == {"."}
    assert (await thread.answer(yes)).text == "done"


async def test_an_unvisited_entry_at_the_end_is_a_mismatch_that_names_it() -> None:
    size = [1]

    async def agent(run: FunctionRun) -> None:
        await run.step("count", lambda n: n, size[0])
        await run.confirm("ok?")

    thread = Thread(lambda: agent)
    await thread.go()
    size[0] = 2
    with pytest.raises(ReplayMismatch, match=r"run\.step\('count', 1\)"):
        await thread.answer(yes)


async def test_an_answer_that_is_not_visited_is_a_mismatch() -> None:
    async def ends(run: FunctionRun) -> AsyncIterator[str]:
        yield "x"

    thread = Thread(lambda: pause_a)
    await thread.go()
    thread.make = lambda: ends
    with pytest.raises(ReplayMismatch, match=r"run\.ask\('a\?'"):
        await thread.answer(yes)


async def test_another_question_before_the_answered_one_is_a_mismatch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(execution, "REPLAY_PATIENCE", 0.05)

    async def other(run: FunctionRun) -> None:
        await run.confirm("b?")

    thread = Thread(lambda: pause_a)
    await thread.go()
    thread.make = lambda: other
    with pytest.raises(ReplayMismatch, match=r"run\.ask\('a\?'"):
        await thread.answer(yes)


async def test_a_replay_has_time_to_come_through_awaits_of_its_own() -> None:
    async def other(run: FunctionRun) -> None:
        await asyncio.sleep(0.03)
        await run.step("late", lambda: 1)

    async def asks(run: FunctionRun) -> None:
        await run.step("slow", asyncio.sleep, 0.1)
        await run.confirm("a?")
        await run.confirm("b?")

    async def agent(run: FunctionRun) -> None:
        await asyncio.gather(asks(run), other(run))

    thread = Thread(lambda: agent)
    assert (await thread.go()).asked == ["a?"]
    assert (await thread.answer(yes)).asked == ["b?"]
    assert (await thread.answer(yes)).final is None


def changed(path: str, value: Any) -> Callable[[Any], Any]:
    def change(continuation: Any) -> Any:
        found = copy.deepcopy(continuation)
        found[path] = value
        return found

    return change


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda c: None, "version None"),
        (lambda c: [c], "version None"),
        (changed("v", 2), "version 2"),
        (changed("entries", 3), "malformed at 'entries'"),
        (changed("surprise", 3), "malformed at 'surprise'"),
    ],
)
async def test_a_continuation_of_another_version_or_shape_is_refused(
    change: Callable[[Any], Any], text: str
) -> None:
    thread = Thread(lambda: pause_a)
    pause = (await thread.go()).pause
    decisions = {ask.native_id: yes(ask) for ask in pause.asks}
    with pytest.raises(ReplayMismatch, match=text):
        await thread.go(resume=Resume(change(pause.continuation), decisions))


async def test_decisions_that_are_missing_or_unknown_are_refused() -> None:
    thread = Thread(lambda: pause_a)
    pause = (await thread.go()).pause
    with pytest.raises(ReplayMismatch, match=r"no decision for run\.ask"):
        await thread.go(resume=Resume(pause.continuation, {}))
    decisions = {ask.native_id: yes(ask) for ask in pause.asks}
    with pytest.raises(ReplayMismatch, match="never asked"):
        await thread.go(resume=Resume(pause.continuation, {**decisions, "x": yes(pause.asks[0])}))


async def test_a_fresh_run_starts_with_an_empty_journal() -> None:
    done: list[int] = []

    async def agent(run: FunctionRun) -> None:
        await run.step("x", lambda: done.append(1))

    thread = Thread(lambda: agent)
    await thread.go()
    await thread.go()
    assert done == [1, 1]


async def test_a_replay_sees_the_messages_of_the_first_run_and_the_later_ones_apart() -> None:
    seen: list[Any] = []

    async def agent(run: FunctionRun) -> None:
        await run.step("llm", str, [m.id for m in run.messages])
        await run.confirm(run.text)
        seen.append([m.id for m in run.messages])
        seen.append([m.id for m in run.new_messages])
        seen.append([m.id for m in run.messages_since])

    user = {"id": "u", "role": "user", "content": "delete it"}
    thread = Thread(lambda: agent, messages=[{"id": "old", "role": "user", "content": "?"}, user])
    await thread.go(raw_new_messages=[user])
    thread.messages.append({"id": "a", "role": "assistant", "content": "sure?"})
    thread.messages.append({"id": "u2", "role": "user", "content": "well"})
    await thread.answer(yes)
    assert seen == [["old", "u"], ["u"], ["a", "u2"]]


async def test_later_changes_of_a_result_do_not_reach_the_journal() -> None:
    cache = [1]

    async def agent(run: FunctionRun) -> str:
        rows = await run.step("rows", lambda: cache)
        cache.append(2)
        rows.append(3)
        await run.confirm("ok?")
        return str(await run.step("len", lambda: len(rows)))

    thread = Thread(lambda: agent)
    await thread.go()
    assert (await thread.answer(yes)).text == "2"
