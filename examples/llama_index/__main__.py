"""An agent of LlamaIndex that sends e-mails once a person has approved them, and asks questions.

    python -m examples.llama_index --port 8787

By default a model without a network does what messages say: see examples/llama_index/model.py. For
a real one give `make_agent` any model of LlamaIndex that calls functions.
"""

import argparse
import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from workflows import Context
from workflows.events import HumanResponseEvent, InputRequiredEvent

from agui_bridge import BearerTokens, Bridge, Settings
from agui_bridge.http.server import serve
from agui_bridge_llama_index import LlamaIndexAdapter
from examples.approval_target import LOOPBACK, TOKENS, Quarter
from examples.llama_index.model import offline_model

TOOL_SECONDS = 0.2


class Question(InputRequiredEvent):
    """What a tool asks, and the schema of its answers."""

    message: str
    response_schema: dict[str, Any]


def make_agent(effects: Path, model: Any = None) -> FunctionAgent:
    """The agent.

    Args:
        effects: file to which every execution of a tool appends a line.
        model: that it asks.
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

    async def ask_quarter(ctx: Context, about: str) -> str:
        """Ask the user which quarter is meant."""
        schema = Quarter.model_json_schema()
        asked = Question(message=f"Which quarter for {about}?", response_schema=schema)
        answer = await ctx.wait_for_event(HumanResponseEvent, waiter_event=asked)
        return json.dumps(answer.response)

    async def ask_presence(ctx: Context, who: str) -> str:
        """Ask the user whether somebody is there."""
        asked = Question(message=f"Is {who} here?", response_schema={"type": "boolean"})
        answer = await ctx.wait_for_event(HumanResponseEvent, waiter_event=asked)
        return json.dumps(answer.response)

    return FunctionAgent(
        name="mailer",
        description="Sends e-mails.",
        system_prompt="You send e-mails and ask for what you don't know.",
        tools=[send_email, crash, ask_quarter, ask_presence],
        llm=model or offline_model(),
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
    mailer = LlamaIndexAdapter(make_agent(effects), approve=["send_email", "crash"])
    bridge.add("mailer", mailer, description="Sends e-mails that were approved.")
    return bridge


def _append(path: Path, line: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
        file.flush()
        os.fsync(file.fileno())


def main() -> None:
    """Serve the agent until interrupted."""
    parser = argparse.ArgumentParser(description="An agent of LlamaIndex behind the bridge.")
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
