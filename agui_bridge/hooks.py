"""Functions that programs give the bridge: async ones are awaited, plain ones run in threads.

A plain function may block: it fetches keys, or looks a session up. On the event loop it would keep
every other run waiting, whose leases end meanwhile.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Final

_THREADS: Final = 32


class HookThreads:
    """Threads for the plain ones among hooks of one kind, so that no other kind waits for them.

    Args:
        name: of the threads.
    """

    def __init__(self, name: str) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix=f"agui-bridge-{name}")

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a hook gives, whatever the function is: plain, async, or plain and gives awaitables.

        A plain one sees the caller's context variables. If the caller is cancelled, it runs on, and
        what it gives is dropped.

        Args:
            function: the hook.
            *arguments: for it.

        Raises:
            RuntimeError: it called `sys.exit()`, which would end the server.
            Exception: whatever else it raises.
        """
        try:
            if _is_async(function):
                return await function(*arguments)
            call = functools.partial(copy_context().run, function, *arguments)
            given = await asyncio.get_running_loop().run_in_executor(self._threads, call)
            return await given if inspect.isawaitable(given) else given
        except SystemExit as error:
            raise RuntimeError("the function called sys.exit()") from error


def _is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it runs none of its code: of an object it is the class that says so."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - not whether it can be called
    )
