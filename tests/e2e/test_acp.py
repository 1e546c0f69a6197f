"""Sessions of an editor whose library is the official one in TypeScript, and of two of them."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp import editor as python
from tests.acp.agents import effects_of
from tests.acp.conftest import folder as folder  # a fixture
from tests.acp.editor import Asked, Editor, Start, allowed, capabilities, command_of, within
from tests.acp.test_sessions import *  # noqa: F403  # the same, with this module's `started`
from tests.e2e.lines import HERE

Json = dict[str, Any]


@pytest.fixture
def started() -> Start:
    """Starts an agent in such an editor."""
    return _started


async def test_editors_of_both_libraries_answer_at_once_and_one_answer_is_carried_out(
    started: Start, folder: Path
) -> None:
    async with started(folder, "asks") as one, python.started(folder, "asks") as other:
        session = await one.new()
        turn = one.prompt(session, "users")
        asked = await one.next()
        await other.load(session)
        same = await other.next()
        for each in (asked, same):
            each.answer.set_result(allowed("approve"))
        assert await within(turn) == {"stopReason": "end_turn"}
        async with asyncio.timeout(40):
            while "Done" not in other.said():
                await asyncio.sleep(0.01)
    assert effects_of(folder) == ["deleted users 7"]


class NodeEditor(Editor):
    """The official TypeScript client, in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        super().__init__()
        self._process = process
        self._replies: dict[int, asyncio.Future[Any]] = {}
        self._came: dict[int, Asked] = {}
        self._answering: list[asyncio.Future[Any]] = []
        self._reading = asyncio.ensure_future(self._read())

    async def do(self, name: str, **more: Any) -> Any:
        """What comes of a command."""
        number = len(self._replies) + 1
        reply = self._replies[number] = asyncio.get_running_loop().create_future()
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"id": number, "do": name, **more}).encode() + b"\n")
        return await reply

    async def request(self, method: str, params: Json) -> Json:
        """The result of a request to the agent."""
        result: Json = await self.do("request", method=method, params=params)
        return result

    async def cancel(self, session: str) -> None:
        """Cancel the turn."""
        await self.do("notify", method="session/cancel", params={"sessionId": session})

    async def kill(self) -> None:
        """Kill the agent's process as `kill -9` does."""
        await self.do("kill")

    async def close(self) -> None:
        """End the process."""
        self._process.kill()
        await self._process.wait()
        await self._reading

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for text in self._process.stdout:
            line = json.loads(text)
            if "update" in line:
                self.updates.append(line["update"])
            elif "withdrawn" in line:
                self._came[line["withdrawn"]].withdrawn.set()
            elif "asked" in line:
                self._ask(line)
            elif "failed" in line:
                self._replies[line["id"]].set_exception(RuntimeError(line["failed"]))
            elif "id" in line:
                self._replies[line["id"]].set_result(line.get("result"))

    def _ask(self, line: Json) -> None:
        number = line["asked"]
        asked = self._came[number] = Asked(line["kind"], line["params"])
        self.asked.put_nowait(asked)

        def answered(answer: asyncio.Future[Json]) -> None:
            sent = self.do("answer", asked=number, result=answer.result())
            self._answering.append(asyncio.ensure_future(sent))

        asked.answer.add_done_callback(answered)


@contextlib.asynccontextmanager
async def _started(
    folder: Path, agent: str, *more: str, forms: bool = False
) -> AsyncIterator[Editor]:
    process = await asyncio.create_subprocess_exec(
        "node",
        "acp.mjs",
        cwd=HERE,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**24,
    )
    editor = NodeEditor(process)
    try:
        editor.offered = await editor.do(
            "start",
            command=command_of(agent, *more),
            folder=str(folder),
            variables={"PYTHONPATH": str(python.ROOT)},
            capabilities=capabilities(forms),
        )
        yield editor
        await within(editor.do("end"))
    finally:
        await editor.close()
