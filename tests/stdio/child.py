"""The stdio transport as a real process, and what it left in its store, seen from outside."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.open import open_store
from tests.support.commands import Command
from tests.support.effects import lines_of
from tests.support.streams import check_stream

__all__ = ["AGENTS", "COMMAND", "ENVIRONMENT", "Child", "eventually", "run_params", "started"]

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "agui_bridge", "stdio", "agents:bridge"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
PATIENCE = 40.0

AGENTS = '''
import asyncio, os, pathlib, subprocess, sys, threading
from agui_bridge import Bridge, FunctionRun, Settings

HERE = pathlib.Path(__file__).parent
bridge = Bridge(
    f"sqlite:///{HERE / 'agents.db'}",
    settings=Settings(
        flush_interval=0.05, shutdown_grace=float(os.environ.get("GRACE", "3")), cancel_grace=1.0
    ),
)

def note(what):
    with open(HERE / "effects", "a") as file:
        file.write(what + "\\n")

@bridge.agent
async def echo(run: FunctionRun):
    yield f"You said: {run.text}"

@bridge.agent
async def slow(run: FunctionRun):
    """Counts until it is stopped."""
    yield f"heard {len(run.messages)}: "
    for number in range(100_000):
        yield f"{number} "
        await asyncio.sleep(0.01)

@bridge.agent
async def flood(run: FunctionRun):
    for number in range(1_000_000):
        yield "x" * 1000
        await asyncio.sleep(0)

@bridge.agent
async def working(run: FunctionRun):
    async def work():
        note("began")
        await run.stop  # what tells of it may be slower than the go
        while not (HERE / "go").exists():
            await asyncio.sleep(0.01)
        note("ended")
        return "worked"
    await run.call("work", {}, work)
    await run.call("more", {}, lambda: note("more"))
    yield "never"

@bridge.agent
async def stuck(run: FunctionRun):
    def block():
        note("began")
        threading.Event().wait()
    await run.call("block", {}, block)

@bridge.agent
async def asks(run: FunctionRun):
    approval = await run.approve("delete", {"table": "users"})
    if approval.approved:
        async def delete(table):
            note("began")
            while not (HERE / "go").exists():
                await asyncio.sleep(0.01)
            note(f"deleted {table}")
            return "gone"
        yield "Deleting. "
        yield await run.tool(approval, delete)
    else:
        yield "Kept."

@bridge.agent
async def chatty(run: FunctionRun):
    print("this is printed", flush=True)
    os.write(1, b"so is this\\n")
    subprocess.run([sys.executable, "-c", "import sys; print(sys.stdin.read())"])
    yield "clean"

@bridge.agent
async def counts(run: FunctionRun):
    return {"characters": len(run.text)}

@bridge.agent
async def broken(run: FunctionRun):
    yield "so far"
    raise ValueError("hush")
'''

Message = dict[str, Any]


def run_params(agent: str, text: str | None = "go", thread: str = "t", **more: Any) -> Message:
    """A RunAgentInput with the agent's name."""
    messages = [] if text is None else [{"id": f"u-{text}", "role": "user", "content": text}]
    return {"agent": agent, "threadId": thread, "runId": "r", "messages": messages, **more}


class Child:
    """One process of `agui-bridge stdio`.

    Args:
        folder: where its agents, their effects, their store and its log lie.
        interpreted: run by an interpreter of its own, so that it ends as such a one does.
        module: what is run.
        variables: environment variables besides; GRACE is how long runs go on at the end.
    """

    def __init__(
        self,
        folder: Path,
        *,
        interpreted: bool = False,
        module: str = "agui_bridge",
        variables: Mapping[str, str] | None = None,
    ) -> None:
        (folder / "agents.py").write_text(AGENTS)
        self.folder = folder
        self._errors = (folder / "stderr").open("ab")
        environment = {**ENVIRONMENT, **(variables or {})}
        self.process: subprocess.Popen[bytes] | Command
        if interpreted:
            self.process = subprocess.Popen(
                COMMAND,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=environment,
            )
        else:
            self.process = Command(
                module,
                *COMMAND[3:],
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors.fileno(),
                env=environment,
            )
        assert self.process.stdin is not None and self.process.stdout is not None
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._kept: list[Message] = []
        self._listens = False

    # --- what goes in ---

    def write(self, *lines: bytes) -> None:
        """Send raw lines in one piece."""
        self._stdin.write(b"".join(line + b"\n" for line in lines))
        self._stdin.flush()

    def send(self, *requests: Message) -> None:
        """Send requests in one piece."""
        full = [{"jsonrpc": "2.0-stream", **request} for request in requests]
        self.write(*(json.dumps(request).encode() for request in full))

    def begin(self, name: str, method: str, **params: Any) -> None:
        """Send one request."""
        self.send({"id": name, "method": method, "params": params})

    def end_input(self) -> None:
        """Close its standard input."""
        self._stdin.close()

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def go_on(self) -> None:
        """Let its tools go on."""
        (self.folder / "go").touch()

    # --- what comes out ---

    def next(self) -> Message | None:
        """The next line; None at the end."""
        if not self._listens:
            self._listens = True
            threading.Thread(target=self._listen, daemon=True).start()
        line = self._lines.get(timeout=PATIENCE)
        if not line:
            return None
        message: Message = json.loads(line)
        self._kept.append(message)
        return message

    def _listen(self) -> None:
        with contextlib.suppress(ValueError):
            for line in self._stdout:
                self._lines.put(line)
        self._lines.put(b"")

    def until(self, wanted: Callable[[Message], bool]) -> Message:
        """The first line, now or to come, that is wanted."""
        for message in self._kept:
            if wanted(message):
                return message
        while (found := self.next()) is not None:
            if wanted(found):
                return found
        raise AssertionError(f"the output ended: {self._kept[-5:]}\n{self.errors}")

    def event(self, name: str | int, kind: str) -> Message:
        """The first event of a request that has a type."""
        wanted = self.until(
            lambda m: m["id"] == name and "event" in m and m["event"]["type"] == kind
        )
        event: Message = wanted["event"]
        return event

    def answer(self, name: str | int | None) -> Message:
        """The answer to a request: its result or error."""
        return self.until(lambda m: m["id"] == name and "event" not in m)

    def stream(self, name: str | int) -> list[Message]:
        """All events of an answered request, which are a valid stream."""
        self.answer(name)
        events = [m["event"] for m in self._kept if m["id"] == name and "event" in m]
        kinds = [event["type"] for event in events]
        check_stream(events, kinds[-2:] == ["RUN_FINISHED", "RUN_ERROR"])
        return events

    def call(self, name: str, method: str, **params: Any) -> Message:
        """Send one request and wait for its answer."""
        self.begin(name, method, **params)
        return self.answer(name)

    def ended(self) -> int:
        """Read what is left, and wait for the process; gives its exit code."""
        while self.next() is not None:
            pass
        return self.process.wait(PATIENCE)

    @property
    def errors(self) -> str:
        """What it logged."""
        return (self.folder / "stderr").read_text(errors="replace")

    @property
    def effects(self) -> list[str]:
        """What its tools did."""
        return lines_of(self.folder / "effects")

    # --- its store ---

    def stored(self, agent: str, thread: str = "t", scope: str = "default") -> Loaded:
        """A thread as another process sees it."""

        async def load() -> Loaded:
            store = await open_store(f"sqlite:///{self.folder / 'agents.db'}")
            try:
                return await store.load(ThreadKey(scope, agent, thread), messages=True)
            finally:
                await store.aclose()

        return asyncio.run(load())

    def contents(self, agent: str, thread: str = "t", scope: str = "default") -> list[Any]:
        """Role and content of its messages."""
        loaded = self.stored(agent, thread, scope)
        return [(m.message["role"], m.message.get("content")) for m in loaded.messages]

    def close(self) -> None:
        """End it, however it is."""
        self.process.kill()
        self.process.wait(PATIENCE)
        with contextlib.suppress(OSError):
            self._stdin.close()
        self._stdout.close()
        self._errors.close()


@contextlib.contextmanager
def started(folder: Path, **options: Any) -> Iterator[Child]:
    """A process with these options, killed at the end if it still runs."""
    child = Child(folder, **options)
    try:
        yield child
    finally:
        child.close()


def eventually(condition: Callable[[], Any]) -> None:
    """Return once a condition about another process holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.02)
