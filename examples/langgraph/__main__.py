"""An agent of LangChain that sends e-mails once a person has approved them.

    python -m examples.langgraph --port 8787

MODEL names a real one, such as MODEL=openai:gpt-5.2 with its key in OPENAI_API_KEY; what the
provider needs is installed with `pip install langchain-openai`. By default a model without a
network does what messages say: see examples/langgraph/model.py.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from inspect import signature
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import interrupt

from agui_bridge import BearerTokens, Bridge, Settings
from agui_bridge.http.server import serve
from agui_bridge_langgraph import FrontendTools, LangGraphAdapter
from examples.approval_target import LOOPBACK, TOKENS, Quarter
from examples.langgraph.model import OfflineModel

TOOL_SECONDS = 0.2
REVIEWED: Any = {"allowed_decisions": ["approve", "edit", "reject"]}


def make_agent(effects: Path, checkpointer: Any, mode: Any = "per_call") -> Any:
    """The agent.

    Args:
        effects: file to which every execution of a tool appends a line.
        checkpointer: keeps the conversations.
        mode: how the middleware pauses: `per_call` or `batched`.
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

    @tool
    async def ask_quarter(about: str) -> str:
        """Ask the user for a quarter."""
        answer = interrupt(
            {
                "message": f"Which quarter for {about}?",
                "responseSchema": Quarter.model_json_schema(),
            }
        )
        return json.dumps(answer)

    @tool
    async def ask_yes_or_no(about: str) -> str:
        """Ask the user whether something is so."""
        schema = {"type": "boolean"}
        return str(interrupt({"message": f"Is {about} here?", "responseSchema": schema}))

    # LangChain before 1.4.6 knows `batched` alone, and no name for it.
    named = "interrupt_mode" in signature(HumanInTheLoopMiddleware).parameters
    modes: dict[str, Any] = {"interrupt_mode": mode} if named else {}
    return create_agent(
        os.environ.get("MODEL") or OfflineModel(),
        [send_email, crash, ask_quarter, ask_yes_or_no],
        system_prompt="You send e-mails and ask for what you don't know.",
        middleware=[
            HumanInTheLoopMiddleware({"send_email": REVIEWED, "crash": REVIEWED}, **modes),
            FrontendTools(),
        ],
        checkpointer=checkpointer,
    )


def make_bridge(
    store: str,
    effects: Path,
    checkpoints: str,
    *,
    mode: str = "per_call",
    lease_seconds: float = 30.0,
    tokens: bool = False,
) -> Bridge:
    """The bridge with its one agent.

    Args:
        store: store URL.
        effects: file to which every execution of a tool appends a line.
        checkpoints: SQLite file of the checkpointer.
        mode: how the middleware pauses: `per_call` or `batched`.
        lease_seconds: a run whose process is silent this long counts as lost.
        tokens: whether requests need one of the tokens of examples/approval_target.py.
    """

    @asynccontextmanager
    async def agent() -> AsyncIterator[Any]:
        # Opened with the first run: this checkpointer wants the loop that it is used in.
        async with AsyncSqliteSaver.from_conn_string(checkpoints) as checkpointer:
            yield make_agent(effects, checkpointer, mode)

    bridge = Bridge(
        store,
        settings=Settings(lease_seconds=lease_seconds),
        authenticate=BearerTokens(TOKENS) if tokens else None,
        cors_origin_regex=LOOPBACK,
    )
    description = "Sends e-mails that were approved."
    bridge.add("mailer", LangGraphAdapter(agent), description=description)
    return bridge


def _append(path: Path, line: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
        file.flush()
        os.fsync(file.fileno())


def main() -> None:
    """Serve the agent until interrupted."""
    parser = argparse.ArgumentParser(description="An agent of LangChain behind the bridge.")
    parser.add_argument("--port", type=int, default=8787)
    parser.add_argument("--effects", type=Path, default=Path("effects.jsonl"))
    parser.add_argument("--store", default="memory:", help="store URL, such as sqlite:///mails.db")
    parser.add_argument("--checkpoints", default=":memory:", help="SQLite file of the checkpointer")
    parser.add_argument("--mode", choices=("per_call", "batched"), default="per_call")
    parser.add_argument("--lease", type=float, default=30.0, help="seconds of a run's lease")
    parser.add_argument("--tokens", action="store_true", help="requests need a bearer token")
    options = parser.parse_args()
    bridge = make_bridge(
        options.store,
        options.effects,
        options.checkpoints,
        mode=options.mode,
        lease_seconds=options.lease,
        tokens=options.tokens,
    )
    print(f"http://127.0.0.1:{options.port}/agents/mailer   (Ctrl-C ends it)", flush=True)
    serve(bridge, "127.0.0.1", options.port, log_level="warning")


if __name__ == "__main__":
    main()
