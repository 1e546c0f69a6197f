"""A client of the official SDK's that asks a bridge: over pipes, or over a socket."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.support.waiting import PATIENCE

__all__ = ["ROOT", "Person", "asking", "environment", "piped", "request", "retried"]

ROOT = Path(__file__).parents[2]

Late = Callable[[], Awaitable[types.ElicitResult]]
ACCEPTED = types.ElicitResult(action="accept")


@dataclass
class Person:
    """Who answers what the client shows, in order.

    Attributes:
        answers: what to do at each question, or what does something before it gives that.
        asked: what was shown.
        told: what was told of the call's progress.
    """

    answers: list[types.ElicitResult | Late] = field(default_factory=list)
    asked: list[Any] = field(default_factory=list)
    told: list[str | None] = field(default_factory=list)

    async def answer(self, context: Any, params: Any) -> types.ElicitResult:
        """Answer one question."""
        self.asked.append(params)
        answer = self.answers.pop(0)
        return answer if isinstance(answer, types.ElicitResult) else await answer()

    async def hear(self, progress: float, total: float | None, message: str | None) -> None:
        """Hear of the progress."""
        self.told.append(message)


@contextlib.asynccontextmanager
async def asking(
    target: Any, person: Person | None = None, **options: Any
) -> AsyncIterator[Client]:
    """A client at a server: its address, or what `piped` gives. Without a person it shows none."""
    if person is not None:
        options["elicitation_callback"] = person.answer
    async with Client(target, read_timeout_seconds=PATIENCE, **options) as client:
        yield client


def environment(folder: Path, **variables: str) -> dict[str, str]:
    """The variables of another process whose store and effects lie in a folder."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "MCP_STORE": f"sqlite:///{folder / 'agents.db'}",
        "MCP_EFFECTS": str(folder / "effects"),
        **variables,
    }


def piped(folder: Path, variables: Mapping[str, str] | None = None) -> Any:
    """A server over pipes that the client starts: `agui-bridge mcp`."""
    return stdio_client(
        StdioServerParameters(
            command=sys.executable,
            args=["-m", "agui_bridge", "mcp", "tests.mcp_server.agents:bridge"],
            env=dict(variables or environment(folder)),
            cwd=str(folder),
        )
    )


async def request(client: Client, tool: str, **arguments: Any) -> types.InputRequiredResult:
    """Call a tool, whose result must be a request for input."""
    found = await client.session.call_tool(tool, arguments, allow_input_required=True)
    assert isinstance(found, types.InputRequiredResult), found
    return found


async def retried(
    client: Client, tool: str, before: types.InputRequiredResult, *given: Any, **arguments: Any
) -> Any:
    """Call it again with what was answered, one answer for each question."""
    names = list(before.input_requests or {})
    return await client.session.call_tool(
        tool,
        arguments,
        input_responses=dict(zip(names, given, strict=True)) or None,
        request_state=before.request_state,
        allow_input_required=True,
    )
