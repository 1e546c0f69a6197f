"""A process that dies between two steps of its work, without ending: it comes to nothing more."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Collection
from typing import Any, cast

from agui_bridge.stores.base import Store


class Mortal:
    """One process's way to a store, which ends when the process dies: no call returns any more.

    Args:
        store: what it leads to.

    Attributes:
        commits: how many commits there were.
        dies_at: the commit with which the process dies; None: none.
        written: whether that commit arrives.
        dead: whether it has died.
    """

    def __init__(self, store: Store, *, dies_at: int | None = None, written: bool = False) -> None:
        self._store = store
        self.commits = 0
        self.dies_at = dies_at
        self.written = written
        self.dead = False
        self._hanging: set[asyncio.Task[Any]] = set()

    @classmethod
    def store(cls, store: Store, **how: Any) -> tuple[Mortal, Store]:
        """A mortal process's store, and the same as engines want it."""
        made = cls(store, **how)
        return made, cast(Store, made)

    def __getattr__(self, name: str) -> Any:
        """A method of the store, which a dead process does not come back from."""
        method = getattr(self._store, name)
        if not inspect.iscoroutinefunction(method):
            return method

        async def call(*args: Any, **members: Any) -> Any:
            await self.lives()
            last = False
            if name == "commit":
                self.commits += 1
                last = self.commits == self.dies_at
            if last and not self.written:
                self.dead = True
                await self.lives()
            found = await method(*args, **members)
            self.dead = self.dead or last
            await self.lives()
            return found

        return call

    async def bury(self, tasks: Collection[asyncio.Task[Any]] = ()) -> None:
        """End what the process was at: whatever it tries on the way comes to nothing."""
        self.dead = True
        for _ in range(50):
            left = {task for task in (*tasks, *self._hanging) if not task.done()}
            if not left:
                return
            for task in left:
                task.cancel()
            await asyncio.wait(left, timeout=0.002)

    async def lives(self) -> None:
        """Return while the process lives."""
        if self.dead:
            task = asyncio.current_task()
            assert task is not None, "it is awaited in a task"
            self._hanging.add(task)
            await asyncio.Event().wait()

    async def die(self) -> None:
        """Die here."""
        self.dead = True
        await self.lives()
