"""An agent of Microsoft's Agent Framework that sends e-mails once they are approved.

    python -m examples.agent_framework --port 8787

MODEL names one of OpenAI's, such as MODEL=gpt-5.5-mini with its key in OPENAI_API_KEY. By default a
chat client without a network does what messages say: see examples/agent_framework/model.py.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
from importlib import import_module
from pathlib import Path
from typing import Any

from agent_framework import Agent, FunctionTool, tool

from agui_bridge import BearerTokens, Bridge, Settings
from agui_bridge.http.server import serve
from examples.agent_framework.model import offline_client
from examples.approval_target import LOOPBACK, TOKENS, Quarter

TOOL_SECONDS = 0.2


def make_agent(effects: Path) -> Agent[Any]:
    """The agent.

    Args:
        effects: file to which every execution of a tool appends a line.
    """

    @tool(approval_mode="always_require")
    async def send_email(to: str, body: str) -> str:
        """Send an e-mail."""
        await asyncio.sleep(TOOL_SECONDS)
        _append(effects, {"tool": "send_email", "to": to, "body": body})
        return f"sent to {to}"

    @tool(approval_mode="always_require")
    async def crash(to: str, body: str) -> str:
        """Send an e-mail, and die of it."""
        _append(effects, {"tool": "send_email", "to": to, "body": body})
        os.kill(os.getpid(), signal.SIGKILL)
        return "unreachable"

    return Agent(
        _client(),
        name="mailer",
        instructions="You send e-mails and ask for what you don't know.",
        tools=[
            send_email,
            crash,
            _question("ask_quarter", "Ask for a quarter.", Quarter.model_json_schema()),
            _question("ask_whether", "Ask whether it is so.", {"type": "boolean"}),
        ],
    )


def _question(name: str, description: str, schema: dict[str, Any]) -> FunctionTool:
    """A tool without a function: what a person answers is its result."""
    arguments = {"type": "object", "properties": {"message": {"type": "string"}}}
    return FunctionTool(
        name=name,
        description=description,
        input_model=arguments,
        additional_properties={"response_schema": schema},
    )


def _client() -> Any:
    model = os.environ.get("MODEL")
    if not model:
        return offline_client()
    return import_module("agent_framework.openai").OpenAIChatClient(model=model)


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
    parser = argparse.ArgumentParser(description="An agent of the Agent Framework.")
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
