"""Drives Agent Framework's AGUIChatClient by JSON lines: see `Lines` in lines.py.

It runs where agent-framework-ag-ui is installed, and uses what that package documents. A program is
one client on one thread: it sends what is new, and the server has the conversation. With `agent`
it is an `Agent` with a session, which sends the whole conversation each time.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any

from agent_framework import Agent, Message, tool
from agent_framework_ag_ui import AGUIChatClient, state_carrier

Json = dict[str, Any]


def tell(line: Json) -> None:
    """Answer one line."""
    print(json.dumps(line), flush=True)


@tool
def show_page(page: str) -> str:
    """Show a page of the program."""
    return f"the page {page}"


class Program:
    """A program that talks with an agent on one thread."""

    def __init__(self, command: Json) -> None:
        self._client = AGUIChatClient(endpoint=command["url"])
        self._options: Json = {"metadata": {"thread_id": command["threadId"]}}
        self._agent = None
        if command["agent"]:
            self._agent = Agent(client=self._client, tools=[show_page])
            self._session = self._agent.create_session()
        else:
            self._options["tools"] = [show_page]
        self._running: asyncio.Task[Json] | None = None

    async def run(self, command: Json) -> Json:
        """Send messages, or answers, and say what the program was given."""
        self._running = asyncio.create_task(self._run(command))
        try:
            return await self._running
        except asyncio.CancelledError:
            return {"stopped": True}

    async def stop(self) -> None:
        """End what runs, as a program does that no longer wants it."""
        assert self._running is not None
        self._running.cancel()
        await asyncio.wait([self._running])

    async def _run(self, command: Json) -> Json:
        messages = [
            Message("user", [said["text"]], message_id=said.get("id"))
            if said["role"] == "user"
            else Message("assistant", [said["text"]], message_id=said["id"])
            for said in command["messages"]
        ]
        if command.get("state") is not None:
            messages.append(Message("user", [state_carrier(command["state"])]))
        options = {**self._options}
        if command.get("resume") is not None:
            options["resume"] = command["resume"]
        if self._agent is not None:
            run = self._agent.run(messages, stream=True, session=self._session, options=options)
        else:
            run = self._client.get_response(messages, stream=True, options=options)
        async for update in run:
            if update.text:
                tell({"id": command["id"], "event": {"type": "TEXT", "delta": update.text}})
        return seen(await run.get_final_response())

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()


def seen(response: Any) -> Json:
    """What a program can read in a response."""
    contents = [content for message in response.messages for content in message.contents]
    told = response.additional_properties
    return {
        "text": response.text,
        "said": [
            {"id": message.message_id, "role": message.role, "text": message.text}
            for message in response.messages
            if message.text
        ],
        "results": [[c.call_id, c.result] for c in contents if c.type == "function_result"],
        "errors": [c.message for c in contents if c.type == "error"],
        "outcome": told["outcome"]["type"],
        "interrupts": told.get("interrupts") or [],
    }


async def main() -> None:
    """Carry out commands until stdin ends."""
    programs: dict[str, Program] = {}
    going_on: set[asyncio.Task[None]] = set()

    async def open_program(command: Json) -> Json:
        programs[command["program"]] = Program(command)
        return {}

    async def run(command: Json) -> Json:
        return await programs[command["program"]].run(command)

    async def stop(command: Json) -> Json:
        await programs[command["program"]].stop()
        return {}

    async def close(command: Json) -> Json:
        await programs.pop(command["program"]).close()
        return {}

    commands: dict[str, Callable[[Json], Any]] = {
        "open": open_program,
        "run": run,
        "stop": stop,
        "close": close,
    }

    async def carry_out(command: Json) -> None:
        try:
            tell({"id": command["id"], "result": await commands[command["do"]](command)})
        except Exception as error:  # whatever it is, the test is to see it
            tell({"id": command["id"], "failed": repr(error)})

    # Not awaited: a program may be stopped, and another one may run, while one runs.
    while line := await asyncio.to_thread(sys.stdin.readline):
        task = asyncio.create_task(carry_out(json.loads(line)))
        going_on.add(task)
        task.add_done_callback(going_on.discard)


if __name__ == "__main__":
    asyncio.run(main())
