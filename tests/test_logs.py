"""Logs: every record made in a run names it, in JSON lines and in text."""

import asyncio
import contextvars
import io
import json
import logging
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agui_bridge import FunctionAdapter, FunctionRun
from agui_bridge.logs import LogFormat, LogLevel, RunFilter, configure_logging
from tests.support.agents import Bench
from tests.support.logs import logging_as_before

AUTHORS = logging.getLogger("shop.orders")


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    with logging_as_before():
        yield


def logged(format: LogFormat = "json", level: LogLevel = "info") -> io.StringIO:
    stream = io.StringIO()
    configure_logging(format, level, stream)
    return stream


def entries(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


async def talkative(run: FunctionRun) -> AsyncIterator[str]:
    """Logs in its own task, in one that it begins, in a step, in a tool's thread, and fails."""
    AUTHORS.info("in the function")

    async def aside() -> None:
        AUTHORS.info("in a task")

    async def step() -> None:
        AUTHORS.info("in a step")

    await asyncio.create_task(aside())
    await run.step("look", step)
    await asyncio.to_thread(AUTHORS.info, "in a thread")
    yield "done"
    raise ValueError("no such order")


async def test_each_record_of_a_run_names_agent_thread_and_run_wherever_it_was_made() -> None:
    stream = logged()
    AUTHORS.info("outside")

    await Bench(FunctionAdapter(talkative)).say("hi", threadId="t-1", runId="r-1")

    outside, *inside = entries(stream)
    assert {"thread", "run", "agent"}.isdisjoint(outside)
    assert [entry["message"] for entry in inside] == [
        "in the function",
        "in a task",
        "in a step",
        "in a thread",
        "the agent raised an error",
    ]
    for entry in inside:
        assert (entry["agent"], entry["thread"], entry["run"]) == ("agent", "t-1", "r-1")


async def test_two_runs_at_once_keep_their_ids_apart() -> None:
    stream = logged()
    both = asyncio.Barrier(2)

    async def agent(run: FunctionRun) -> None:
        await both.wait()
        AUTHORS.info("of %s", run.thread_id)

    bench = Bench(FunctionAdapter(agent))
    await asyncio.gather(bench.say("hi", threadId="t-1"), bench.say("hi", threadId="t-2"))

    found = {entry["thread"]: entry["message"] for entry in entries(stream)}
    assert found == {"t-1": "of t-1", "t-2": "of t-2"}


def test_an_exception_has_its_type_and_its_traceback_on_one_line() -> None:
    stream = logged()
    try:
        raise KeyError("k")
    except KeyError:
        AUTHORS.exception("failed")

    [entry] = entries(stream)
    assert (entry["level"], entry["logger"], entry["message"]) == ("error", "shop.orders", "failed")
    assert entry["exception"] == "builtins.KeyError"
    assert entry["traceback"].startswith("Traceback") and "test_logs.py" in entry["traceback"]
    assert entry["time"].endswith("Z") and "T" in entry["time"]


def test_what_an_author_passes_as_extra_is_kept_apart() -> None:
    stream = logged()
    AUTHORS.info("paid", extra={"order": 7, "logger": "x"})
    [entry] = entries(stream)
    assert entry["extra"] == {"order": 7, "logger": "x"}
    assert entry["logger"] == "shop.orders"


def test_text_names_the_run_behind_the_message_and_a_hostile_id_makes_no_line_of_its_own() -> None:
    stream = logged("text")
    AUTHORS.info("paid", extra={"agui_agent": "a", "agui_thread": "t\nERROR x", "agui_run": "r"})
    [line] = stream.getvalue().splitlines()
    assert line.endswith('INFO    shop.orders: paid [a "t\\nERROR x" r]')


@pytest.mark.parametrize("name", ["uvicorn", "uvicorn.error", "uvicorn.access"])
def test_the_servers_loggers_take_the_same_format(name: str) -> None:
    logging.getLogger(name).addHandler(logging.NullHandler())
    stream = logged()
    logging.getLogger(name).warning("hello %s", "you")
    assert [(e["logger"], e["message"]) for e in entries(stream)] == [(name, "hello you")]


def test_configuring_again_replaces_what_was_set_up_and_leaves_other_handlers_alone() -> None:
    others = list(logging.getLogger().handlers)
    first, second = logged(), logged("text")
    AUTHORS.info("once")
    assert first.getvalue() == ""
    assert second.getvalue().count("once") == 1
    assert set(others) <= set(logging.getLogger().handlers)


@pytest.mark.parametrize(("level", "heard"), [("info", 0), ("debug", 1)])
def test_libraries_that_report_every_step_are_heard_at_level_debug_only(
    level: LogLevel, heard: int
) -> None:
    stream = logged(level=level)
    logging.getLogger("httpx").info("GET https://example.org")
    assert len(entries(stream)) == heard


def test_the_filter_keeps_the_ids_of_a_record_that_another_thread_handles() -> None:
    record = logging.makeLogRecord({"agui_run": "r"})
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(contextvars.Context().run, RunFilter().filter, record).result()
    assert vars(record)["agui_run"] == "r"
