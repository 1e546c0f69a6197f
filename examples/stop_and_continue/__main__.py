"""Goes through the four steps against a server of its own: `python -m examples.stop_and_continue`.

1. Start the agent on a task of many steps.
2. Stop it in the middle; with `--kill` its server is killed instead, and started again.
3. Look into the database: all that was done is there.
4. Send a new instruction: the agent goes on with what it had.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

AGENT = "examples.stop_and_continue.agent:bridge"
THREAD = "try-it"
WROTE = "wrote "
"""How the result of a step begins."""


class Server:
    """A process that serves the agent.

    Args:
        database: the SQLite file.
    """

    def __init__(self, database: Path) -> None:
        command = [sys.executable, "-m", "agui_bridge", "serve", AGENT, "--port", "0"]
        self.process = subprocess.Popen(
            [*command, "--store", f"sqlite:///{database}", "--log-level", "warning"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        found = None
        while found is None:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("The server did not start.")
            found = re.search(r"http://\S+", line)
        self.url = f"{found[0]}/agents/coder"

    def run(self, text: str) -> Iterator[dict[str, Any]]:
        """The events of a run, while they come."""
        body = {
            "threadId": THREAD,
            "runId": f"run-{abs(hash(text))}",
            "protocolVersion": "1.0",
            "messages": [{"id": text, "role": "user", "content": text}],
        }
        with httpx.stream("POST", self.url, json=body, timeout=60) as response:
            for line in response.iter_lines():
                if line.startswith("data: "):
                    yield json.loads(line.removeprefix("data: "))

    def stop(self) -> dict[str, Any]:
        """Stop the thread's run."""
        answer = httpx.post(f"{self.url}/threads/{THREAD}/stop", timeout=60)
        stopped: dict[str, Any] = answer.json()
        return stopped

    def kill(self) -> None:
        """End the process as a power cut would."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def when_free(server: Server, text: str) -> list[dict[str, Any]]:
    """The events of a run, begun once the lease of one that was killed is over."""
    for _ in range(60):
        events = list(server.run(text))
        if events[-1].get("code") != "RUN_IN_PROGRESS":
            return events
        time.sleep(0.25)
    raise SystemExit("The thread does not become free.")


def rows(database: Path) -> list[tuple[str, str]]:
    """Role and content of the stored messages, read past the bridge."""
    with sqlite3.connect(database) as connection:
        found = connection.execute("SELECT data FROM agui_messages ORDER BY position").fetchall()
    messages = [json.loads(data) for (data,) in found]
    messages = [message.get("message", message) for message in messages]
    return [(m["role"], str(m.get("content") or "")) for m in messages]


def show(title: str, lines: list[str]) -> None:
    print(f"\n{title}")
    for line in lines:
        print(f"   {line}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Stops an agent, and goes on.")
    parser.add_argument("--kill", action="store_true", help="kill the server instead of a stop")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "agents.db"
        server = Server(database)
        try:
            walk(server, database, kill=options.kill)
        finally:
            server.kill()


def walk(server: Server, database: Path, *, kill: bool) -> None:
    """Go through the steps."""
    said: list[str] = []
    before: list[str] = []
    try:
        for event in server.run("write a sorting program"):
            if name := written(event):
                before.append(name)
                said.append(f"{event['type']}: {event['content']}")
                if len(before) == 3 and kill:
                    server.kill()
                elif len(before) == 3:
                    stopped = server.stop()
                    said.append(f"stop: {stopped['status']}, {stopped['stopReason']}")
            elif event["type"] == "RUN_FINISHED":
                said.append(f"RUN_FINISHED: {event['outcome']['type']}")
    except httpx.TransportError:
        said.append("the connection broke")
    show("1. A task of eight steps, 2. ended after the third:", said)

    stored = rows(database)
    show("3. What the database has:", [f"{role}: {content}" for role, content in stored])
    kept = sum(content.startswith(WROTE) for _, content in stored)
    if kept < len(before) - kill:
        raise SystemExit(f"{len(before)} files were written, but the database has {kept}.")

    if kill:
        again = Server(database)
        server.process, server.url = again.process, again.url
    text = ""
    after: list[str] = []
    for event in when_free(server, "use quicksort instead"):
        if event["type"] == "TEXT_MESSAGE_CONTENT":
            text += event["delta"]
        elif name := written(event):
            after.append(name)
    show("4. A new instruction:", [text, f"Written now: {', '.join(after)}"])
    if f"{kept} files are there" not in text or kept + len(after) != 8:
        raise SystemExit("The agent did not go on with what it had.")
    print(f"\n{outcome(before, after)}")


def written(event: dict[str, Any]) -> str | None:
    """The file that an event tells of, if it is the result of a step."""
    if event["type"] != "TOOL_CALL_RESULT" or not event["content"].startswith(WROTE):
        return None
    name: str = event["content"].removeprefix(WROTE)
    return name


def outcome(before: list[str], after: list[str]) -> str:
    """What the end, and the new beginning, cost.

    Args:
        before: the files written until the run ended.
        after: the files written by the next run.
    """
    twice = [name for name in before if name in after]
    if not twice:
        return "Nothing was lost, and no step was done again."
    return (
        f"One step was done again: {twice[0]} was written, but the server was killed before it\n"
        "had stored the result. What was stored was not lost, and those steps were not done again."
    )


main()
