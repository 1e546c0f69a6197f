"""A LangGraph agent behind ag-ui-langgraph: `python -m tests.servers.peers.langgraph --port 8000`.

`--gate` says who asks: `tool` calls interrupt() itself, with AG-UI's keys, `text` with a text
alone; `batched` and `per_call` are langchain's HumanInTheLoopMiddleware. `--outcome yes` has the
endpoint tell interrupts in RUN_FINISHED besides the CUSTOM event, `only` without it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import interrupt

from tests.servers.peers.script import TOKEN_SECONDS, Effects, calls_of, reply_to, serve

SCHEMA = {
    "type": "object",
    "required": ["approved"],
    "properties": {"approved": {"type": "boolean"}, "editedArgs": {"type": "object"}},
}


class Scripted(BaseChatModel):
    """What a language model would do with the last message."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _said(self, messages: list[Any]) -> tuple[list[Any], list[str]]:
        results: list[str] = []
        for message in reversed(messages):
            if isinstance(message, ToolMessage):
                results.insert(0, str(message.content))
            elif isinstance(message, HumanMessage):
                break
        text = next(str(m.content) for m in reversed(messages) if isinstance(m, HumanMessage))
        if results:
            return [], reply_to(text, results)
        calls = calls_of(text)
        return calls, [] if calls else reply_to(text, [])

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
        calls, pieces = self._said(messages)
        made = [{"id": c.id, "name": c.name, "args": c.args, "type": "tool_call"} for c in calls]
        message = AIMessage(content="".join(pieces), tool_calls=made)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(self, messages: Any, *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        raise NotImplementedError

    async def _astream(
        self, messages: Any, *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        calls, pieces = self._said(messages)
        for n, call in enumerate(calls):
            chunk = {"id": call.id, "name": call.name, "args": json.dumps(call.args), "index": n}
            yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[chunk]))
        for piece in pieces:
            if len(pieces) > 1:
                await asyncio.sleep(TOKEN_SECONDS)
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece))


def make_app(options: argparse.Namespace) -> FastAPI:
    """The agent at `/`, its checkpoints in a SQLite file."""
    effects = Effects(options.effects)

    @tool("send_email")
    def asks_itself(to: str, body: str, call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Send an email."""
        if options.gate == "text":
            answer = interrupt(f"Send an email to {to}?")
        else:
            answer = interrupt(
                {
                    "reason": "tool_call",
                    "message": f"Send an email to {to}?",
                    "toolCallId": call_id,
                    "responseSchema": SCHEMA,
                }
            )
        if not (answer is True or (isinstance(answer, dict) and answer.get("approved") is True)):
            return "not sent"
        edited = answer.get("editedArgs") if isinstance(answer, dict) else None
        return effects.send_email(**(edited or {"to": to, "body": body}))

    @tool("send_email")
    def plain(to: str, body: str) -> str:
        """Send an email."""
        return effects.send_email(to, body)

    gated = options.gate in ("batched", "per_call")
    middleware = (
        [HumanInTheLoopMiddleware({"send_email": True}, interrupt_mode=options.gate)]
        if gated
        else []
    )
    shown: dict[str, Any] = {
        "no": {},
        "yes": {"emit_interrupt_outcome": True},
        "only": {"enable_legacy_on_interrupt_event": False},
    }[options.outcome]

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        path = str(options.folder / "langgraph.db")
        async with AsyncSqliteSaver.from_conn_string(path) as saver:
            graph = create_agent(
                Scripted(),
                [plain if gated else asks_itself],
                middleware=middleware,
                checkpointer=saver,
            )
            agent = LangGraphAgent(name="peer", graph=graph, **shown)
            add_langgraph_fastapi_endpoint(app, agent, "/")
            yield

    return FastAPI(lifespan=lifespan)


if __name__ == "__main__":
    serve(make_app, ("gate", "tool"), ("outcome", "yes"))
