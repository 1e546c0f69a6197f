"""Public MCP servers, as npm has them, behind an agent: each acts once, after its approval."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agui_bridge import Bridge, CallDenied, FunctionRun, StepFailed
from agui_bridge.mcp import MCPServers
from tests.support.server import Streamed, post, run_input, serve

mcp = pytest.importorskip("mcp")

pytestmark = pytest.mark.timeout(300)

SERVERS = Path(__file__).parent / "mcp-servers" / "node_modules" / "@modelcontextprotocol"
NODE = shutil.which("node") or "node"


class Caller:
    """One thread of an agent that calls what it is told: `TOOL ARGUMENTS`."""

    def __init__(self, base: str) -> None:
        self.base = base
        self._runs = 0
        self.last: Streamed | None = None

    async def say(self, text: str | None, **more: Any) -> Streamed:
        self._runs += 1
        if text is not None:
            message = {"id": f"u{self._runs}", "role": "user", "content": text}
            more["messages"] = [message]
        self.last = await post(self.base, **run_input(text, run=f"r{self._runs}", **more))
        return self.last

    async def answer(self, payload: Any) -> Streamed:
        return await self.say(None, resume=self.resume(payload))

    def resume(self, payload: Any) -> list[dict[str, Any]]:
        return [
            {"interruptId": one["id"], "status": "resolved", "payload": payload}
            for one in self.asks
        ]

    @property
    def asks(self) -> list[dict[str, Any]]:
        assert self.last is not None
        return list(self.last.events[-1]["outcome"].get("interrupts", ()))

    @property
    def results(self) -> list[str]:
        assert self.last is not None
        return [e["content"] for e in self.last.events if e["type"] == "TOOL_CALL_RESULT"]


@asynccontextmanager
async def calling(folder: Path, **options: Any) -> AsyncIterator[Caller]:
    """An agent with the three servers, of which it trusts all."""

    def server(name: str, *args: str, **env: str) -> Any:
        script = SERVERS / f"server-{name}" / "dist" / "index.js"
        return mcp.StdioServerParameters(command=NODE, args=[str(script), *args], env=env)

    servers = MCPServers(
        {
            "everything": server("everything", "stdio"),
            "files": server("filesystem", str(folder)),
            "memory": server("memory", MEMORY_FILE_PATH=str(folder / "memory.jsonl")),
        },
        trusted=["everything", "files", "memory"],
        **options,
    )
    bridge = Bridge("memory:")

    @bridge.agent("agent")
    async def agent(run: FunctionRun) -> str:
        tool, _, args = run.text.partition(" ")
        try:
            return json.dumps(await servers.call(run, tool, json.loads(args)))
        except (CallDenied, StepFailed) as error:
            return f"{type(error).__name__}: {error}"

    async with serve(bridge.app(anonymous=True)) as base:
        yield Caller(base)


async def test_a_file_is_read_at_once_and_written_once_it_is_approved(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("before")
    async with calling(tmp_path) as it:
        await it.say(f"files.read_text_file {json.dumps({'path': str(note)})}")
        assert it.results == ["before"]
        text = json.dumps({"path": str(note), "content": "after"})
        await it.say(f"files.write_file {text}")
        assert it.asks[0]["reason"] == "tool_call"
        assert note.read_text() == "before"
        resume = it.resume({"approved": True})
        await it.say(None, resume=resume)
        assert note.read_text() == "after"
        note.write_text("mine")
        await it.say(None, resume=resume)
    assert note.read_text() == "mine"


async def test_what_is_declined_is_not_remembered_and_what_is_approved_is(tmp_path: Path) -> None:
    made = {"entities": [{"name": "Ann", "entityType": "person", "observations": ["likes tea"]}]}
    async with calling(tmp_path) as it:
        await it.say(f"memory.create_entities {json.dumps(made)}")
        await it.answer({"approved": False})
        await it.say("memory.read_graph {}")
        assert "Ann" not in it.results[0]
        await it.say(f"memory.create_entities {json.dumps(made)}")
        await it.answer({"approved": True})
        assert "Ann" in it.results[0]
        await it.say("memory.search_nodes " + json.dumps({"query": "tea"}))
        assert "Ann" in it.results[0]


async def test_pictures_progress_and_structured_content_come_through(tmp_path: Path) -> None:
    async with calling(tmp_path) as it:
        await it.say("everything.get-tiny-image {}")
        kinds = [block["type"] for block in json.loads(it.results[0])["content"]]
        assert "image" in kinds
        await it.say("everything.get-structured-content " + json.dumps({"location": "Chicago"}))
        assert json.loads(it.results[0]).keys() == {"temperature", "conditions", "humidity"}
        long = {"duration": 1, "steps": 3}
        told = await it.say(f"everything.trigger-long-running-operation {json.dumps(long)}")
        assert sum(e["type"] == "ACTIVITY_SNAPSHOT" for e in told.events) == 3


async def test_an_older_servers_question_is_asked_where_the_author_says_it_may_be_called_twice(
    tmp_path: Path,
) -> None:
    tool = "everything.trigger-elicitation-request {}"
    async with calling(tmp_path, approve=lambda tool, args: False) as it:
        await it.say(tool)
        assert "in the middle of the call" in json.loads(it.results[0])["note"]
    repeatable = {"everything": ["trigger-elicitation-request"]}
    async with calling(tmp_path, approve=lambda tool, args: False, repeatable=repeatable) as it:
        await it.say(tool)
        (ask,) = it.asks
        assert ask["reason"] == "mcp:elicitation"
        required = ask["responseSchema"]
        assert "properties" in str(required)
        await it.answer({"name": "Ann"})
        assert "Ann" in it.results[0]
