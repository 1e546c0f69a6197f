"""A CrewAI flow behind ag-ui-crewai: `python -m tests.servers.peers.crewai --port 8000`.

A flow asks for feedback on what it is about to do: a question with two answers, about no call.
`--outcome no` has the endpoint tell it as a CUSTOM event alone. What waits is in a SQLite file.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from typing import Any

import litellm
from ag_ui_crewai import (
    CopilotKitState,
    add_crewai_flow_fastapi_endpoint,
    agui_feedback_provider,
    copilotkit_stream,
)
from crewai.flow.flow import Flow, listen, router, start
from crewai.flow.human_feedback import human_feedback
from fastapi import FastAPI
from litellm import CustomLLM, acompletion
from litellm.types.utils import GenericStreamingChunk

from tests.servers.peers.script import TOKEN_SECONDS, Effects, calls_of, reply_to, serve

MODEL = "scripted/any"
ASKS, TALKS, APPROVED, REJECTED = "asks", "talks", "approved", "rejected"


class Scripted(CustomLLM):
    """What a language model would do with the last message, or make of a feedback."""

    def completion(self, model: str, messages: list[Any], *args: Any, **kwargs: Any) -> Any:
        feedback = re.search(r"^Feedback: (.*)$", str(messages[-1]["content"]), re.MULTILINE)
        outcome = APPROVED if feedback and feedback[1] == APPROVED else REJECTED
        return litellm.completion(model="openai/any", messages=messages, mock_response=outcome)

    async def astreaming(
        self, model: str, messages: list[Any], *args: Any, **kwargs: Any
    ) -> AsyncIterator[GenericStreamingChunk]:
        last = messages[-1]
        told = last["role"] == "tool"
        pieces = reply_to(last["content"], [last["content"]] if told else [])
        for n, piece in enumerate(pieces):
            if len(pieces) > 1:
                await asyncio.sleep(TOKEN_SECONDS)
            done = n == len(pieces) - 1
            yield GenericStreamingChunk(
                text=piece,
                is_finished=done,
                finish_reason="stop" if done else "",
                index=0,
                tool_use=None,
                usage=None,
            )


def make_app(options: argparse.Namespace) -> FastAPI:
    """The flow at `/`."""
    effects = Effects(options.effects)
    os.environ["XDG_DATA_HOME"] = str(options.folder.absolute())
    litellm.custom_provider_map = [{"provider": "scripted", "custom_handler": Scripted()}]

    class Peer(Flow[CopilotKitState]):
        def _text(self) -> str:
            users = [m for m in self.state.messages if m["role"] == "user"]
            return str(users[-1]["content"]) if users else ""

        async def _say(self, message: dict[str, str]) -> None:
            said = await acompletion(model=MODEL, messages=[message], stream=True)
            answer = await copilotkit_stream(said)
            self.state.messages.append(answer.choices[0].message)

        @start()
        def read(self) -> str:
            return self._text()

        @router(read)
        def choose(self) -> str:
            return ASKS if calls_of(self._text()) else TALKS

        @listen(TALKS)
        async def talk(self) -> None:
            await self._say({"role": "user", "content": self._text()})

        @listen(ASKS)
        @human_feedback(
            message="Send the email?",
            emit=[APPROVED, REJECTED],
            llm=MODEL,
            default_outcome=REJECTED,
            provider=agui_feedback_provider,
        )
        def propose(self) -> str:
            (call,) = calls_of(self._text())
            return json.dumps(call.args)

        @listen(APPROVED)
        async def send(self) -> None:
            (call,) = calls_of(self._text())
            result = await asyncio.to_thread(effects.send_email, **call.args)
            await self._say({"role": "tool", "content": result})

        @listen(REJECTED)
        async def leave(self) -> None:
            await self._say({"role": "tool", "content": "not sent"})

    served = FastAPI()
    outcome = options.outcome == "yes"
    add_crewai_flow_fastapi_endpoint(served, Peer(), "/", emit_interrupt_outcome=outcome)
    return served


if __name__ == "__main__":
    serve(make_app, ("outcome", "yes"))
