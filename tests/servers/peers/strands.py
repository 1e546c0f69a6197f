"""A Strands agent behind ag-ui-strands: `python -m tests.servers.peers.strands --port 8000`.

Its sessions are files in the folder.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from ag_ui_strands import (
    StrandsAgent,
    StrandsAgentConfig,
    ToolBehavior,
    add_strands_fastapi_endpoint,
)
from fastapi import FastAPI
from strands import Agent, tool
from strands.models import Model
from strands.session.file_session_manager import FileSessionManager

from tests.servers.peers.script import TOKEN_SECONDS, Effects, calls_of, reply_to, serve


class Scripted(Model):
    """What a language model would do with the last message."""

    def update_config(self, **config: Any) -> None:
        return None

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream(
        self, messages: Any, tool_specs: Any = None, *args: Any, **kwargs: Any
    ) -> AsyncIterator[Any]:
        results: list[str] = []
        text = ""
        for message in reversed(messages):
            content = message["content"]
            returned = [part["toolResult"] for part in content if "toolResult" in part]
            results[:0] = [str(r["content"][0].get("text", "")) for r in returned]
            said = [part["text"] for part in content if "text" in part]
            if message["role"] == "user" and said:
                text = said[-1]
                break
        names = [spec["name"] for spec in tool_specs or ()]
        calls = [] if results else calls_of(text, [n for n in names if n != "send_email"])
        yield {"messageStart": {"role": "assistant"}}
        for call in calls:
            use = {"toolUse": {"name": call.name, "toolUseId": call.id}}
            yield {"contentBlockStart": {"start": use}}
            delta = {"toolUse": {"input": json.dumps(call.args)}}
            yield {"contentBlockDelta": {"delta": delta}}
            yield {"contentBlockStop": {}}
        if not calls:
            yield {"contentBlockStart": {"start": {}}}
            for piece in (pieces := reply_to(text, results)):
                if len(pieces) > 1:
                    await asyncio.sleep(TOKEN_SECONDS)
                yield {"contentBlockDelta": {"delta": {"text": piece}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}


def make_app(options: argparse.Namespace) -> Any:
    """The agent at `/`."""
    effects = Effects(options.effects)

    @tool
    def send_email(to: str, body: str) -> str:
        """Send an email."""
        return effects.send_email(to, body)

    def sessions(given: Any) -> FileSessionManager:
        folder = str(options.folder / "sessions")
        return FileSessionManager(session_id=given.thread_id, storage_dir=folder)

    config = StrandsAgentConfig(
        tool_behaviors={"send_email": ToolBehavior(interrupt_on_call=True)},
        session_manager_provider=sessions,
    )
    agent = StrandsAgent(
        Agent(model=Scripted(), tools=[send_email], callback_handler=None),
        name="peer",
        config=config,
    )
    served = FastAPI()
    add_strands_fastapi_endpoint(served, agent, "/")
    return served


if __name__ == "__main__":
    serve(make_app)
