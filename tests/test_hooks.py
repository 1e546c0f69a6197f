"""Functions that programs give the bridge: which run in threads, and what becomes of them."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest

from agui_bridge.hooks import HookThreads

TOLD: ContextVar[str] = ContextVar("told", default="nothing")


def seen(word: str) -> tuple[str, str, bool]:
    return word, TOLD.get(), threading.current_thread() is threading.main_thread()


async def seen_async(word: str) -> tuple[str, str, bool]:
    return seen(word)


def awaited(word: str) -> Awaitable[tuple[str, str, bool]]:
    return seen_async(word)


class Plain:
    def __call__(self, word: str) -> tuple[str, str, bool]:
        return seen(word)


class Async:
    async def __call__(self, word: str) -> tuple[str, str, bool]:
        return seen(word)


@pytest.mark.parametrize(
    ("hook", "on_the_loop"),
    [
        (seen, False),
        (partial(seen), False),
        (Plain(), False),
        (seen_async, True),
        (partial(seen_async), True),
        (Async(), True),
        (awaited, True),
    ],
)
async def test_a_plain_hook_runs_in_a_thread_with_the_context_of_its_caller(
    hook: Callable[[str], Any], on_the_loop: bool
) -> None:
    TOLD.set("ann")
    assert await HookThreads("test").call(hook, "word") == ("word", "ann", on_the_loop)


@pytest.mark.parametrize("error", [ValueError("no"), KeyError("k"), SystemExit(2)])
async def test_what_a_hook_raises_reaches_its_caller(error: BaseException) -> None:
    def plain() -> None:
        raise error

    async def later() -> None:
        raise error

    exits = isinstance(error, SystemExit)
    for hook in (plain, later):
        with pytest.raises(RuntimeError if exits else type(error)):
            await HookThreads("test").call(hook)
