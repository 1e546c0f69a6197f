"""What a thread's history costs the runs that come after it, by the CPU time of the server."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.contenders.process import Server
from benchmarks.measuring.load import Conversation, drive
from benchmarks.measuring.requests import new_thread, request, run_input
from benchmarks.measuring.resuming import approving
from benchmarks.measuring.rounds import interleave
from benchmarks.measuring.setup import Setup
from benchmarks.rows import Row, ratio

_SOME = 10
"""Runs of which one is the mean."""


def _said(count: int) -> list[dict[str, Any]]:
    """So many messages of the user: those of other roles would not be taken from a client."""
    return [
        {"id": f"m{number}", "role": "user", "content": f"This was said as {number}."}
        for number in range(count)
    ]


def _run(agent: str, body: dict[str, Any], sizes: list[int] | None = None) -> Conversation:
    raw = yield request(agent, body)
    if sizes is not None:
        sizes.append(len(raw))


def _prepare(server: Server, messages: int) -> str:
    """A thread that has so many messages."""
    thread = new_thread()
    drive(server.port, [_run("one", run_input(thread, messages=_said(messages)))])
    return thread


def _runs(server: Server, messages: int, sizes: list[int]) -> float:
    """CPU seconds of a run on a thread that had so many messages before the first of them."""
    thread = _prepare(server, messages)
    before = server.cpu_seconds
    for _ in range(_SOME):
        drive(server.port, [_run("one", run_input(thread), sizes)])
    return (server.cpu_seconds - before) / _SOME


def _chat(server: Server, messages: int) -> float:
    """CPU seconds of a question and its answer, on a thread that has so many messages.

    The thread begins with them, and has asked once: reading them the first time does not count.
    """
    total = 0.0
    for _ in range(_SOME):
        thread = new_thread()
        drive(server.port, [approving(thread, messages=_said(messages))])
        before = server.cpu_seconds
        drive(server.port, [approving(thread)])
        total += server.cpu_seconds - before
    return total / _SOME


def long(setup: Setup) -> list[Row]:
    """Runs on long threads, of those on short ones."""
    plan, servers = setup.plan, setup.stores()
    few, many = plan.history
    rows = []
    for name in ("memory", "SQLite"):
        sizes: dict[str, list[int]] = {"few": [], "many": []}
        samples = interleave(
            {
                "few": partial(_runs, servers[name], few, sizes["few"]),
                "many": partial(_runs, servers[name], many, sizes["many"]),
            },
            plan.rounds,
        )
        short = f"long/{name.lower()}"
        what = f"a run on a thread of {many} messages / of {few}, {name}"
        largest = {length: (float(max(found)),) for length, found in sizes.items()}
        rows += [
            ratio(short, f"{what}: server CPU", samples, "many", "few", at_most=2),
            ratio(
                f"{short}-bytes",
                f"{what}: bytes of its stream",
                largest,
                "many",
                "few",
                at_most=1.1,
            ),
        ]
    few, many = plan.chat_history
    chatting = setup.chatting()
    samples = interleave(
        {"few": partial(_chat, chatting, few), "many": partial(_chat, chatting, many)}, plan.rounds
    )
    what = f"a chat model's question and answer at {many} messages / at {few}: server CPU"
    rows.append(ratio("long/chat", what, samples, "many", "few", at_most=1.5))
    return rows
