"""Counts what agents carry out."""

from __future__ import annotations

import asyncio


class Effects:
    """Counts what was carried out."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()

    def act(self, what: str = "delete") -> str:
        self.done.append(what)
        return "gone"

    async def act_slowly(self) -> str:
        self.done.append("begun")
        self.begun.set()
        await self.may_end.wait()
        self.done.append("ended")
        return "gone"
