"""Interrupts: the round trip of a question and its answer, on each store."""

from __future__ import annotations

import re
import statistics
import time
from functools import partial
from typing import Any

from benchmarks.contenders.process import Server
from benchmarks.measuring.load import Conversation, drive
from benchmarks.measuring.requests import new_thread, request, run_input
from benchmarks.measuring.rounds import interleave
from benchmarks.measuring.setup import Setup
from benchmarks.rows import BenchmarkBroken, Row, ratio

_INTERRUPT = re.compile(rb'"outcome":\{"type":"interrupt","interrupts":\[\{"id":"([^"]+)"')
_CALL = re.compile(rb'"toolCallId":"([^"]+)"')
_ANSWERED = b'"TOOL_CALL_RESULT"'
_SUCCESS = b'"outcome":{"type":"success"}'


def _resume(interrupt: str) -> dict[str, Any]:
    return {"interruptId": interrupt, "status": "resolved", "payload": {"approved": True}}


def _asked(raw: bytes) -> str:
    found = _INTERRUPT.search(raw)
    if found is None:
        raise BenchmarkBroken(f"no question came: … {raw[-2_000:]!r}")
    return found[1].decode()


def _check_answered(raw: bytes) -> None:
    if _SUCCESS not in raw or _ANSWERED not in raw:
        raise BenchmarkBroken(f"an answer was not carried out: … {raw[-2_000:]!r}")


def asking(thread: str) -> Conversation:
    """Ask, and leave the question open."""
    _asked((yield request("ask", run_input(thread))))


def answering(thread: str, interrupt: str) -> Conversation:
    """Approve what a thread has asked before."""
    _check_answered((yield request("ask", run_input(thread, None, resume=[_resume(interrupt)]))))


def approving(thread: str, **members: Any) -> Conversation:
    """Ask, answer, finish; the server keeps the history.

    Args:
        thread: its id.
        members: of the input that is asked about, besides or in place of those of `run_input`.
    """
    raw = yield request("ask", run_input(thread, **members))
    resume = [_resume(_asked(raw))]
    _check_answered((yield request("ask", run_input(thread, None, resume=resume))))


def _approving_with_history(thread: str) -> Conversation:
    """The same of a server whose client holds the history, and sends it back."""
    asking = run_input(thread)
    raw = yield request("ask", asking)
    call = _CALL.search(raw)
    if call is None:
        raise BenchmarkBroken(f"no call came: … {raw[-2_000:]!r}")
    function = {"name": "delete_rows", "arguments": '{"table":"users","limit":10}'}
    called = {"id": call[1].decode(), "type": "function", "function": function}
    history = [*asking["messages"], {"id": "asked", "role": "assistant", "toolCalls": [called]}]
    answering = run_input(thread, None, messages=history, resume=[_resume(_asked(raw))])
    _check_answered((yield request("ask", answering)))


def round_trips(server: Server, count: int, clients: int) -> float:
    """Seconds of a number of round trips, each on a thread of its own."""
    approve = _approving_with_history if server.name == "pydantic-ai" else approving
    return drive(server.port, [approve(new_thread()) for _ in range(count)], clients)


def interrupt(setup: Setup) -> list[Row]:
    """Run, interrupt, resume, finish: each on a thread of its own."""
    plan, servers = setup.plan, setup.stores()
    rows = []
    for clients, count in plan.round_trips:
        at_once = "1 client" if clients == 1 else f"{clients} clients"
        samples = interleave(
            {
                name: partial(round_trips, server, count, clients)
                for name, server in servers.items()
            },
            plan.rounds,
        )
        for name in servers:
            short = f"interrupt/{name.lower()}-{clients}"
            if name == "memory":
                rate = tuple(count / seconds for seconds in samples[name])
                rows.append(
                    Row(short, f"interrupt and answer, {at_once}: on memory", "per s", rate)
                )
            elif name == "pydantic-ai":
                what = f"interrupt and answer, {at_once}: pydantic-ai / ours"
                rows.append(ratio(f"{short}-memory", f"{what} on memory", samples, name, "memory"))
                rows.append(ratio(f"{short}-sqlite", f"{what} on SQLite", samples, name, "SQLite"))
            else:
                budget = {1: 0.5, 32: 0.6}.get(clients) if name == "SQLite" else None
                what = f"interrupt and answer, {at_once}: rate on {name} / rate on memory"
                rows.append(ratio(short, what, samples, "memory", name, at_least=budget))
    return rows


def _cycle(thread: str, count: int, took: list[float]) -> Conversation:
    """Question and answer again and again on one thread, each timed."""
    for _ in range(count):
        began = time.perf_counter()
        yield from approving(thread)
        took.append(time.perf_counter() - began)


def _run_cycles(server: Server, count: int, slowing: list[float]) -> float:
    took: list[float] = []
    drive(server.port, [_cycle(new_thread(), count, took)])
    tenth = max(1, count // 10)
    slowing.append(statistics.median(took[-tenth:]) / statistics.median(took[:tenth]))
    return count / sum(took)


def cycles(setup: Setup) -> list[Row]:
    """Interrupt and answer, over and over on one thread, whose history grows."""
    plan = setup.plan
    servers = {name: s for name, s in setup.stores().items() if name != "pydantic-ai"}
    slowing: dict[str, list[float]] = {name: [] for name in servers}
    samples = interleave(
        {
            name: partial(_run_cycles, server, plan.cycles, slowing[name])
            for name, server in servers.items()
        },
        max(1, plan.rounds // 2),
        warm_up=False,
    )
    rows = []
    for name in servers:
        short = f"cycles/{name.lower()}"
        what = f"{plan.cycles} interrupts and answers on one thread, {name}"
        rows.append(Row(short, what, "per s", samples[name]))
        last = f"{what}: last tenth / first tenth, in time"
        rows.append(Row(f"{short}-last", last, "×", tuple(slowing[name])))
    return rows
