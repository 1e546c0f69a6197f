"""An agent of Google ADK that sends e-mails once they are approved, or has a courier do it.

    python -m examples.adk --port 8787

MODEL names a real one, such as MODEL=gemini-3-flash with its key in GOOGLE_API_KEY. By default a
model without a network does what messages say: see examples/adk/model.py.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool

from agui_bridge import BearerTokens, Bridge, Settings
from agui_bridge.http.server import serve
from examples.adk.model import offline_model
from examples.approval_target import LOOPBACK, TOKENS

TOOL_SECONDS = 0.2


def make_agent(effects: Path) -> LlmAgent:
    """The agent, which may hand the conversation to its courier.

    Args:
        effects: file to which every execution of a tool appends a line.
    """

    async def send_email(to: str, body: str) -> str:
        """Send an e-mail."""
        await asyncio.sleep(TOOL_SECONDS)
        _append(effects, {"tool": "send_email", "to": to, "body": body})
        return f"sent to {to}"

    async def crash(to: str, body: str) -> str:
        """Send an e-mail, and die of it."""
        _append(effects, {"tool": "send_email", "to": to, "body": body})
        os.kill(os.getpid(), signal.SIGKILL)
        return "unreachable"

    # Later versions of ADK have this tool themselves; its name is what makes a question of it.
    def adk_request_input(message: str, response_schema: dict[str, Any]) -> None:
        """Ask the user, and wait for the answer."""

    model: Any = os.environ.get("MODEL") or offline_model()
    mail = FunctionTool(send_email, require_confirmation=True)
    courier = LlmAgent(
        name="courier",
        description="Sends e-mails that have to arrive.",
        model=model,
        instruction="You send e-mails.",
        tools=[mail],
    )
    return LlmAgent(
        name="mailer",
        description="Sends e-mails.",
        model=model,
        instruction="You send e-mails and ask for what you don't know.",
        tools=[
            mail,
            FunctionTool(crash, require_confirmation=True),
            LongRunningFunctionTool(adk_request_input),
        ],
        sub_agents=[courier],
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
    parser = argparse.ArgumentParser(description="An agent of Google ADK behind the bridge.")
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
