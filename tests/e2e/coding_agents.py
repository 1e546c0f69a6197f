"""Coding agents as they are published, before a model of our own, and a bridge in front of them.

A prompt `run COMMAND` has the model ask for that command. What the command does is counted in the
folder that the agent works in.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from agui_bridge import Bridge, Settings
from agui_bridge_acp import AcpAdapter
from tests.docs.pages import Conversation
from tests.e2e.lines import HERE
from tests.servers.model.gemini import Gemini
from tests.servers.model.responses import Responses
from tests.servers.model.script import Dialect, Json, Reply, Requested, ToolUse
from tests.support.effects import lines_of
from tests.support.server import serve
from tests.support.waiting import PATIENCE

__all__ = ["AGENTS", "Place", "have_asked", "model_serving"]

PACKAGES: Final = HERE / "acp-agents" / "node_modules"
COMMAND: Final = "echo done >> made.txt"
LEASE: Final = 3.0

# --- the model ---

_RUN: Final = re.compile(r"^run (.+)$", re.MULTILINE)
_SHELLS: Final = ("exec_command", "shell_command", "shell", "run_shell_command")


@contextlib.asynccontextmanager
async def model_serving() -> AsyncIterator[str]:
    """Serve the model; gives its address."""
    numbers = iter(range(1_000_000))

    async def answer(request: Request) -> Response:
        body = {"model": "fake", **await request.json()}
        dialect: Dialect = Gemini() if "contents" in body else Responses()
        said, results, tools = (_of_gemini if "contents" in body else _of_responses)(body)
        requested = Requested(next(numbers), body, dict(request.headers))
        reply = _reply(said, results, tools, requested.number)
        if "stream" not in request.url.path and not dialect.wants_stream(requested):
            return JSONResponse(dialect.whole(requested, reply))
        frames = (*dialect.said(requested, reply), *dialect.ended(requested, reply))
        return StreamingResponse(
            _sent([frame for frame in frames if frame]), media_type="text/event-stream"
        )

    async def nothing(_: Request) -> Response:
        return JSONResponse({}, 404)

    routes = [
        Route("/v1/responses", answer, methods=["POST"]),
        Route("/v1beta/models/{name}", answer, methods=["POST"]),
        Route("/{rest:path}", nothing, methods=["GET", "POST"]),
    ]
    async with serve(Starlette(routes=routes)) as base:
        yield base


async def _sent(frames: Sequence[str]) -> AsyncIterator[str]:
    for frame in frames:
        yield frame


def _reply(said: Sequence[str], results: int, tools: Sequence[Json], number: int) -> Reply:
    """What it says: to what was decided on its last turn as a model would."""
    now = said[-1] if said else ""
    if results:
        return Reply("It is run.")
    if now.startswith("Your last turn was ended"):
        if "The user approved" not in now:
            return Reply("I leave it.")
        now = next((text for text in reversed(said[:-1]) if _RUN.search(text)), "")
    wanted = _RUN.search(now)
    shell = next((tool for tool in tools if tool["name"] in _SHELLS), None)
    if wanted is None or shell is None:
        # Some requests are of the agent's own, and offer no tools.
        return Reply("Hello.")
    args = _args(shell["parameters"]["properties"], wanted[1])
    return Reply("I will run it. ", [ToolUse(shell["name"], args, f"call_{number}")])


def _args(properties: Json, command: str) -> Json:
    for name in ("cmd", "command"):
        if name in properties:
            is_list = properties[name].get("type") == "array"
            return {name: ["bash", "-lc", command] if is_list else command}
    raise AssertionError(f"no command among {[*properties]}")


def _of_responses(body: Json) -> tuple[list[str], int, list[Json]]:
    said, results = [], 0
    for item in body["input"]:
        if item.get("type") == "function_call_output":
            results += 1
        elif item.get("type", "message") == "message" and item["role"] == "user":
            said.append("\n".join(part.get("text", "") for part in item["content"]))
            results = 0
    return said, results, [tool for tool in body.get("tools") or [] if "parameters" in tool]


def _of_gemini(body: Json) -> tuple[list[str], int, list[Json]]:
    said, results = [], 0
    for content in body["contents"]:
        if content.get("role") == "model":
            continue
        answered = sum("functionResponse" in part for part in content["parts"])
        results = results + answered if answered else 0
        if not answered:
            said.append("\n".join(part.get("text", "") for part in content["parts"]))
    tools = [
        {**tool, "parameters": tool.get("parametersJsonSchema") or tool["parameters"]}
        for some in body.get("tools") or []
        for tool in some.get("functionDeclarations") or []
        if tool.get("parametersJsonSchema") or tool.get("parameters")
    ]
    return said, results, tools


# --- the agents ---


@dataclass(frozen=True)
class Place:
    """Where one agent works, with what it did.

    Args:
        agent: its name.
        folder: its own.
        model: the model's address.
    """

    agent: str
    folder: Path
    model: str

    @property
    def done(self) -> list[str]:
        """What its command did."""
        return lines_of(self.work / "made.txt")

    @property
    def work(self) -> Path:
        """The folder that it works in."""
        made = self.folder / "work"
        made.mkdir(exist_ok=True)
        return made

    def bridge(self, *, holds: bool = True) -> Bridge:
        """A bridge in front of it, on a store that others share."""
        settings = Settings(lease_seconds=LEASE, hold_seconds=900.0 if holds else 0.0)
        store = f"sqlite:///{self.folder / 'threads.db'}"
        bridge = Bridge(store, settings=settings, telemetry=False)
        command, env = AGENTS[self.agent](self)
        adapter = AcpAdapter(command, cwd=self.work, homes=self.folder / "homes", env=env)
        bridge.add("coder", adapter)
        return bridge

    def living(self) -> list[int]:
        """The ids of its processes."""
        mark = f"OF_TEST={self.folder}".encode()
        found = []
        for environ in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark in environ.read_bytes().split(b"\0"):
                    found.append(int(environ.parent.name))
        return found

    async def kill_agents(self) -> None:
        """Kill its processes, without a warning."""
        for process in self.living():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        await self.until_nobody_lives()

    async def until_nobody_lives(self) -> None:
        """Wait until its processes have ended, and a bridge in this process has heard of it."""
        async with asyncio.timeout(PATIENCE):
            await asyncio.sleep(0.05)
            while self.living():
                await asyncio.sleep(0.05)


def _codex(place: Place) -> tuple[list[str], dict[str, str]]:
    home = place.folder / "codex"
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(
        'model = "fake"\nmodel_provider = "fake"\napproval_policy = "untrusted"\n'
        'sandbox_mode = "danger-full-access"\n[model_providers.fake]\nname = "fake"\n'
        f'base_url = "{place.model}/v1"\nwire_api = "responses"\nenv_key = "FAKE_KEY"\n'
        "[analytics]\nenabled = false\n"
    )
    keys = dict.fromkeys(("FAKE_KEY", "CODEX_API_KEY", "OPENAI_API_KEY"), "none")
    env = {"CODEX_HOME": str(home), "OF_TEST": str(place.folder), **keys}
    return [str(PACKAGES / ".bin" / "codex-acp")], env


def _gemini(place: Place) -> tuple[list[str], dict[str, str]]:
    settings = place.folder / "gemini.json"
    settings.write_text(
        json.dumps(
            {
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "privacy": {"usageStatisticsEnabled": False},
                "telemetry": {"enabled": False},
                "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
                "model": {"name": "gemini-2.5-flash"},
            }
        )
    )
    env = {
        "GEMINI_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": place.model,
        "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(settings),
        "GEMINI_CLI_NO_RELAUNCH": "true",
        "GEMINI_FORCE_FILE_STORAGE": "true",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "OF_TEST": str(place.folder),
    }
    return [str(PACKAGES / ".bin" / "gemini"), "--acp"], env


AGENTS: Final[dict[str, Callable[[Place], tuple[list[str], dict[str, str]]]]] = {
    "codex": _codex,
    "gemini": _gemini,
}
"""How each is started, by its name: its command, and what it finds in its environment."""


# --- a bridge that is killed ---


def have_asked(line: Connection, agent: str, folder: str, model: str) -> None:
    """Have an agent ask, tell what it asks, and wait for the end."""
    asyncio.run(_have_asked(line, Place(agent, Path(folder), model)))


async def _have_asked(line: Connection, place: Place) -> None:
    talk = Conversation(place.bridge(), "coder")
    await talk.say(f"run {COMMAND}")
    events: list[Any] = talk.events
    line.send(events)
    await asyncio.to_thread(line.recv)
