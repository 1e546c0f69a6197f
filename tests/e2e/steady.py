"""A server whose agent goes on while nobody listens; each of its steps leaves a line in a file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

from ag_ui.core import BaseEvent, ToolCallEndEvent, ToolCallResultEvent, ToolCallStartEvent

from agui_bridge import Bridge, FunctionRun, Settings
from examples.approval_target import LOOPBACK, TOKEN_SECONDS
from tests.e2e.target import Target, serve_for_target

__all__ = ["make_bridge", "steady_in"]


def make_bridge(store: str, effects: Path, lease: float) -> Bridge:
    """The bridge with its one agent.

    Args:
        store: store URL.
        effects: the file of the steps.
        lease: a run whose process is silent this long counts as lost.
    """
    settings = Settings(lease_seconds=lease, on_disconnect="continue")
    bridge = Bridge(store, settings=settings, cors_origin_regex=LOOPBACK)

    # `Target` asks for an agent of this name.
    def write(name: str, number: int) -> None:
        with effects.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"to": f"{name}-{number}"}) + "\n")

    @bridge.agent("target", read_only_tools=("look",))
    async def target(run: FunctionRun) -> AsyncIterator[str | BaseEvent]:
        """Takes N steps for `count NAME N`; N later, it pays for `pay NAME N` and looks for `look`.

        It answers anything else with text.
        """
        verb, *rest = run.text.split()
        if verb not in ("count", "pay", "look"):
            yield f"You said: {run.text}"
            return
        name, steps = rest
        for number in range(int(steps)):
            await asyncio.sleep(TOKEN_SECONDS)
            if verb == "count":
                write(name, number)
            yield f"{number} "
        if verb == "count":
            run.state["counted"] = int(steps)
            return
        call = uuid4().hex
        yield ToolCallStartEvent(tool_call_id=call, tool_call_name=verb)
        yield ToolCallEndEvent(tool_call_id=call)
        write(name, 0)
        yield ToolCallResultEvent(message_id=uuid4().hex, tool_call_id=call, content="done")
        yield f"Outcome of {verb} {name}: done."

    return bridge


def steady_in(folder: Path) -> Target:
    """Start such a server, with its files in a folder."""
    return Target(folder, module="tests.e2e.steady")


def main() -> None:
    """Serve until interrupted."""
    serve_for_target(make_bridge)
