"""A pydantic-ai agent behind pydantic-ai's own AG-UI endpoint, with a scripted model.

    python -m examples.proxy_pydantic_ai.server --port 8000 --effects effects.jsonl

It needs nothing of agui-bridge, and runs in an environment of its own (benchmarks/peers.txt). It
heeds the messages of examples/approval_target.py, as far as pydantic-ai has what they ask for:

    send X      one gated call of send_email to X-0
    both X      two of them in parallel, to X-0 and X-1
    fail X      one gated call whose tool appends its line, then raises
    slow N      streams N tokens, one every 50 ms
    paint X     calls the first tool of the frontend's

Anything else is answered with text. Each execution of the tool appends one JSON line to FILE.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import uvicorn
from pydantic_ai import Agent, DeferredToolRequests, Tool
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

TOOL_SECONDS = 0.2
TOKEN_SECONDS = 0.05


async def model(
    messages: list[ModelMessage], info: AgentInfo
) -> AsyncIterator[str | DeltaToolCalls]:
    """What a language model would do with the last message."""
    last = messages[-1]
    returned = [p for p in last.parts if isinstance(p, ToolReturnPart)]
    prompts = [p for p in last.parts if isinstance(p, UserPromptPart)]
    if isinstance(last, ModelRequest) and returned and not prompts:
        yield f"Outcome: {'; '.join(str(part.content) for part in returned)}."
        return
    text = str(prompts[-1].content) if prompts else ""
    verb, _, rest = text.strip().partition(" ")
    name = rest.strip() or "nobody"
    if verb in ("send", "both", "fail"):
        body = "fail" if verb == "fail" else "original"
        for number in range(2 if verb == "both" else 1):
            args = json.dumps({"to": f"{name}-{number}@example.com", "body": body})
            yield {number: DeltaToolCall(name="send_email", json_args=args)}
    elif verb == "paint":
        frontend = next(tool for tool in info.function_tools if tool.name != "send_email")
        yield {0: DeltaToolCall(name=frontend.name, json_args="{}")}
    elif verb == "slow":
        for number in range(int(name) if name.isdecimal() else 20):
            await asyncio.sleep(TOKEN_SECONDS)
            yield f"{number} "
    else:
        yield f"You said: {text}"


def make_app(effects: Path) -> Starlette:
    """The agent at `/`.

    Args:
        effects: file to which every execution of the tool appends a line.
    """

    async def send_email(to: str, body: str) -> str:
        await asyncio.sleep(TOOL_SECONDS)
        with effects.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"tool": "send_email", "to": to, "body": body}) + "\n")
            file.flush()
            os.fsync(file.fileno())
        if body == "fail":
            raise RuntimeError("the mail server broke off")
        return f"sent to {to}"

    agent = Agent(
        FunctionModel(stream_function=model),
        output_type=[str, DeferredToolRequests],
        tools=[Tool(send_email, requires_approval=True)],
    )

    async def run(request: Request) -> Response:
        response: Response = await AGUIAdapter.dispatch_request(request, agent=agent)
        return response

    async def ready(_: Request) -> Response:
        return Response(status_code=200)

    return Starlette(routes=[Route("/", run, methods=["POST"]), Route("/readyz", ready)])


def _end_with_input() -> None:
    """Whoever started it is gone, however that came."""
    sys.stdin.read()
    os._exit(0)


def main() -> None:
    """Serve it until interrupted."""
    parser = argparse.ArgumentParser(description="A pydantic-ai agent behind AG-UI.")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--effects", type=Path, default=Path("effects.jsonl"))
    parser.add_argument("--pipe", action="store_true", help="end when standard input is closed")
    options = parser.parse_args()
    if options.pipe:
        threading.Thread(target=_end_with_input, daemon=True).start()
    app = make_app(options.effects)
    uvicorn.run(app, host="127.0.0.1", port=options.port, log_level="warning")


if __name__ == "__main__":
    main()
