"""A team of Agno that sends e-mails once they are approved, itself or by its clerk.

    python -m examples.agno --port 8787

MODEL names a real one, such as MODEL=gpt-6-mini with its key in OPENAI_API_KEY. By default a
model without a network does what messages say: see examples/agno/model.py.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any, Literal

from agno.agent import Agent
from agno.team import Team
from agno.tools import tool

from agui_bridge import BearerTokens, Bridge, Settings
from agui_bridge.http.server import serve
from examples.agno.model import offline_model
from examples.approval_target import LOOPBACK, TOKENS

TOOL_SECONDS = 0.2


def make_team(effects: Path) -> Team:
    """The team: a leader with tools of its own, and a clerk.

    Args:
        effects: file to which every execution of a tool appends a line.
    """

    @tool(requires_confirmation=True)
    async def send_email(to: str, body: str) -> str:
        """Send an e-mail."""
        await asyncio.sleep(TOOL_SECONDS)
        _append(effects, {"tool": "send_email", "to": to, "body": body})
        return f"sent to {to}"

    @tool(requires_confirmation=True)
    async def crash(to: str, body: str) -> str:
        """Send an e-mail, and die of it."""
        _append(effects, {"tool": "send_email", "to": to, "body": body})
        os.kill(os.getpid(), signal.SIGKILL)
        return "unreachable"

    @tool(requires_user_input=True, user_input_fields=["quarter", "year"])
    async def report(name: str, quarter: Literal["Q1", "Q2", "Q3", "Q4"], year: int) -> str:
        """Tell how a quarter went."""
        return f"{name}: {quarter} {year} went well"

    @tool(external_execution=True)
    async def is_here(name: str) -> str:
        """Have a person look whether somebody is here."""
        return "unreachable"

    model: Any = _real_model() if os.environ.get("MODEL") else offline_model()
    clerk = Agent(id="clerk", name="clerk", role="Sends e-mails.", model=model, tools=[send_email])
    return Team(
        name="office",
        members=[clerk],
        model=model,
        tools=[send_email, crash, report, is_here],
        instructions="You send e-mails, or have the clerk send them.",
        telemetry=False,
    )


def _real_model() -> Any:
    from agno.models.openai import OpenAIChat

    return OpenAIChat(id=os.environ["MODEL"])


def make_bridge(
    store: str, effects: Path, *, lease_seconds: float = 30.0, tokens: bool = False
) -> Bridge:
    """The bridge with its one team.

    Args:
        store: store URL.
        effects: file to which every execution of a tool appends a line.
        lease_seconds: a run whose process is silent this long counts as lost.
        tokens: whether requests need one of the tokens of examples/approval_target.py.
    """
    bridge = Bridge(
        store,
        settings=Settings(lease_seconds=lease_seconds),
        authenticate=BearerTokens(TOKENS) if tokens else None,
        cors_origin_regex=LOOPBACK,
    )
    bridge.add("mailer", make_team(effects), description="Sends e-mails that were approved.")
    return bridge


def _append(path: Path, line: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
        file.flush()
        os.fsync(file.fileno())


def main() -> None:
    """Serve the team until interrupted."""
    parser = argparse.ArgumentParser(description="A team of Agno behind the bridge.")
    parser.add_argument("--port", type=int, default=8787)
    parser.add_argument("--effects", type=Path, default=Path("effects.jsonl"))
    parser.add_argument("--store", default="memory:", help="store URL, such as sqlite:///mails.db")
    parser.add_argument("--lease", type=float, default=30.0, help="seconds of a run's lease")
    parser.add_argument("--tokens", action="store_true", help="requests need a bearer token")
    options = parser.parse_args()
    bridge = make_bridge(
        options.store, options.effects, lease_seconds=options.lease, tokens=options.tokens
    )
    print(f"http://127.0.0.1:{options.port}/agents/mailer   (Ctrl-C ends it)", flush=True)
    serve(bridge, "127.0.0.1", options.port, log_level="warning")


if __name__ == "__main__":
    main()
