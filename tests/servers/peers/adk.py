"""A Google ADK agent behind ag-ui-adk: `python -m tests.servers.peers.adk --port 8000`.

`--outcome yes` has the endpoint tell confirmations in RUN_FINISHED; `--resumable yes` makes the app
a resumable one. Its sessions are in a SQLite file.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from ag_ui_adk import ADKAgent, AGUIToolset, add_adk_fastapi_endpoint
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.sessions import DatabaseSessionService
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from tests.servers.peers.script import TOKEN_SECONDS, Effects, calls_of, reply_to, serve


class Scripted(BaseLlm):
    """What a language model would do with the last message."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        results: list[str] = []
        text = ""
        for content in reversed(llm_request.contents):
            parts = content.parts or []
            told = [p.function_response for p in parts if p.function_response]
            said = [p.text for p in parts if p.text]
            results[:0] = [str((r.response or {}).get("result", r.response)) for r in told]
            if content.role == "user" and said:
                text = said[-1]
                break
        names = [n for n in llm_request.tools_dict if n not in ("send_email",)]
        calls = [] if results else calls_of(text, names)
        if calls:
            parts = [
                types.Part(function_call=types.FunctionCall(name=c.name, args=c.args, id=c.id))
                for c in calls
            ]
            yield LlmResponse(content=types.Content(role="model", parts=parts))
            return
        pieces = reply_to(text, results)
        for piece in pieces:
            if len(pieces) > 1:
                await asyncio.sleep(TOKEN_SECONDS)
            content = types.Content(role="model", parts=[types.Part(text=piece)])
            yield LlmResponse(content=content, partial=True)
        whole = types.Content(role="model", parts=[types.Part(text="".join(pieces))])
        yield LlmResponse(content=whole, partial=False, turn_complete=True)


def make_app(options: argparse.Namespace) -> Any:
    """The agent at `/`."""
    effects = Effects(options.effects)

    def send_email(to: str, body: str) -> dict[str, str]:
        """Send an email."""
        return {"result": effects.send_email(to, body)}

    agent = LlmAgent(
        name="peer",
        model=Scripted(model="scripted"),
        instruction="Do as you are told.",
        tools=[FunctionTool(send_email, require_confirmation=True), AGUIToolset()],
    )
    address = f"sqlite+aiosqlite:///{options.folder}/adk.db"
    sessions = DatabaseSessionService(address, connect_args={"timeout": 60})
    common = {
        "user_id": "peer",
        # A conversation that waits counts as one.
        "max_concurrent_executions": 1000,
        "session_service": sessions,
        "emit_interrupt_outcome": options.outcome == "yes",
    }
    if options.resumable == "yes":
        app = App(
            name="peer",
            root_agent=agent,
            resumability_config=ResumabilityConfig(is_resumable=True),
        )
        adk = ADKAgent.from_app(app, **common)
    else:
        adk = ADKAgent(adk_agent=agent, app_name="peer", **common)
    served = FastAPI()
    add_adk_fastapi_endpoint(served, adk, path="/")
    return served


if __name__ == "__main__":
    serve(make_app, ("outcome", "yes"), ("resumable", "no"))
