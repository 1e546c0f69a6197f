"""An agent of Strands that sends e-mails once they are approved, or has a courier do it.

    python -m examples.strands --port 8787

MODEL names a real one of Amazon Bedrock, such as MODEL=us.amazon.nova-lite-v1:0, with AWS's keys in
the environment. By default a model without a network does what messages say: see
examples/strands/model.py.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

from strands import Agent, ToolContext, tool
from strands.vended_interventions.hitl import HumanInTheLoop

from agui_bridge import BearerTokens, Bridge, Settings
from agui_bridge.http.server import serve
from examples.approval_target import LOOPBACK, TOKENS, Quarter
from examples.strands.model import offline_model

TOOL_SECONDS = 0.2


def make_agent(effects: Path) -> Agent:
    """The agent, which has a courier among its tools.

    Args:
        effects: file to which every execution of a tool appends a line.
    """

    @tool
    async def send_email(to: str, body: str) -> str:
        """Send an e-mail."""
        await asyncio.sleep(TOOL_SECONDS)
        _append(effects, {"tool": "send_email", "to": to, "body": body})
        return f"sent to {to}"

    @tool
    async def crash(to: str, body: str) -> str:
        """Send an e-mail, and die of it."""
        _append(effects, {"tool": "send_email", "to": to, "body": body})
        os.kill(os.getpid(), signal.SIGKILL)
        return "unreachable"

    @tool(context=True)
    def ask_quarter(about: str, tool_context: ToolContext) -> str:
        """Ask the user which quarter is meant."""
        reason = {"message": f"Which quarter for {about}?", "schema": Quarter.model_json_schema()}
        return json.dumps(tool_context.interrupt("quarter", reason=reason))

    @tool(context=True)
    def ask_presence(who: str, tool_context: ToolContext) -> str:
        """Ask the user whether somebody is there."""
        reason = {"message": f"Is {who} here?", "schema": {"type": "boolean"}}
        return json.dumps(tool_context.interrupt("presence", reason=reason))

    def made(name: str, description: str, tools: list[Any]) -> Agent:
        return Agent(
            model=os.environ.get("MODEL") or offline_model(),
            name=name,
            description=description,
            system_prompt="You send e-mails and ask for what you don't know.",
            tools=tools,
            interventions=[HumanInTheLoop(allowed_tools=["*", "!send_email", "!crash"])],
            callback_handler=None,
        )

    courier = made("courier", "Sends e-mails that have to arrive.", [send_email])
    tools = [send_email, crash, ask_quarter, ask_presence, courier]
    return made("mailer", "Sends e-mails.", tools)


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
    parser = argparse.ArgumentParser(description="An agent of Strands behind the bridge.")
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
