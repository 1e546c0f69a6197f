"""An agent of the OpenAI Agents SDK that sends e-mails once a person has approved them.

    python -m examples.openai_agents --port 8787

MODEL names a real one, such as MODEL=gpt-5.2 with its key in OPENAI_API_KEY. By default a model
without a network does what messages say: see examples/openai_agents/model.py.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

from agents import Agent, Model, function_tool, set_tracing_disabled

from agui_bridge import BearerTokens, Bridge, Settings
from agui_bridge.http.server import serve
from examples.approval_target import LOOPBACK, TOKENS
from examples.openai_agents.model import offline_model

TOOL_SECONDS = 0.2


def make_agent(effects: Path) -> Agent[Any]:
    """The agent, and one that it uses as a tool.

    Args:
        effects: file to which every execution of a tool appends a line.
    """
    name = os.environ.get("MODEL")
    model: str | Model = name or offline_model()
    # The SDK sends traces to OpenAI where it can: not of a model that is none of theirs.
    set_tracing_disabled(name is None)

    @function_tool(needs_approval=True)
    async def send_email(to: str, body: str) -> str:
        """Send an e-mail."""
        await asyncio.sleep(TOOL_SECONDS)
        _append(effects, {"tool": "send_email", "to": to, "body": body})
        return f"sent to {to}"

    @function_tool(needs_approval=True)
    async def crash(to: str, body: str) -> str:
        """Send an e-mail, and die of it."""
        _append(effects, {"tool": "send_email", "to": to, "body": body})
        os.kill(os.getpid(), signal.SIGKILL)
        return "unreachable"

    clerk: Agent[Any] = Agent(
        "clerk", instructions="You send e-mails.", model=model, tools=[send_email]
    )
    return Agent(
        "mailer",
        instructions="You send e-mails, or have the clerk do it.",
        model=model,
        tools=[send_email, crash, clerk.as_tool("clerk", "Have the clerk send e-mails.")],
    )


def make_bridge(
    store: str, effects: Path, *, lease_seconds: float = 30.0, tokens: bool = False
) -> Bridge:
    """The bridge with its one agent.

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
    bridge.add("mailer", make_agent(effects), description="Sends e-mails that were approved.")
    return bridge


def _append(path: Path, line: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
        file.flush()
        os.fsync(file.fileno())


def main() -> None:
    """Serve the agent until interrupted."""
    parser = argparse.ArgumentParser(description="An agent of OpenAI's SDK behind the bridge.")
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
