"""A chat model with tools as an agent, on any OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any, Final

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.agents.chat.calls import CallAnswers
from agui_bridge.agents.chat.endpoint import ChatEndpoint
from agui_bridge.agents.chat.messages import ChatMessage, call_message, chat_messages, reply_message
from agui_bridge.agents.chat.questions import AskUser
from agui_bridge.agents.chat.reply import StreamedReply
from agui_bridge.agents.chat.tools import Tool
from agui_bridge.agents.chat.unanswered import (
    told_before,
    unanswered_messages,
    unanswered_questions,
)
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.errors import ConfigurationError, NotDelivered, UpstreamError
from agui_bridge.protocol.argument_types import checked_arguments
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.threads.run_ends import EndReason

__all__ = ["ChatAgent"]

_CUT_OFF: Final = "I stop here: the reply has come to its limit of tokens."
_TOO_MANY_ROUNDS: Final = "I stop here: {} replies with tool calls were not enough."
_TOO_MANY_TOKENS: Final = "I stop here: the run has taken {} tokens."


class ChatAgent:
    """Talks, and calls tools: the model speaks, asks for tools, reads what came of them.

    Each reply and each call is remembered: after a pause the model is not asked again for what it
    has said, and nothing is executed twice. Calls of one reply are carried out side by side; those
    that need an approval are asked together. A model that calls what it was not given, or with
    arguments that don't fit, reads so.

    A request that fails before anything was said or done has done nothing: an answer that a
    `KeywordAdapter` passes on is then not delivered, and its question stands open again. Answers to
    approvals and questions of its own are never taken back.

    Args:
        model: its name at the endpoint.
        tools: functions (see `tool`), which the model may call as they are, and `AskUser`.
        instructions: what the conversation begins with; empty for none.
        frontend_tools: whether the model may call the tools that the application brings along.
        max_rounds: replies with tool calls in one run, at most.
        max_tokens: tokens in one run, of questions and replies together; no further reply is asked
            for beyond. None sets no limit.
        base_url: of the endpoint; by default OPENAI_BASE_URL, or OpenAI's own.
        api_key: by default OPENAI_API_KEY; an endpoint that needs none gets a word of no meaning.
        timeout: seconds that the model may be silent.
        retries: how often a request is tried again that failed before its first token.
        options: members of the request besides, such as `temperature`; also those that only this
            server knows.

    Attributes:
        read_only_tools: names of its tools that only look.
        capabilities: it asks only if it has tools; its own and the application's are all that a
            policy has to judge.

    Raises:
        ConfigurationError: the model has no name, two tools have one, or one can't be described.
    """

    @checked_arguments("ChatAgent", secret=("api_key",))
    def __init__(
        self,
        model: str,
        *,
        tools: Sequence[Any] = (),
        instructions: str = "",
        frontend_tools: bool = True,
        max_rounds: int = 10,
        max_tokens: int | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 120.0,
        retries: int = 2,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if max_rounds < 1:
            raise ConfigurationError(f"max_rounds must be at least 1, not {max_rounds}.")
        self.endpoint: ChatEndpoint = ChatEndpoint(
            model,
            base_url=base_url,
            api_key=api_key,
            timeout=timeout,
            retries=retries,
            options=options,
        )
        self.tools: Mapping[str, Tool | AskUser] = _by_name(tools)
        self.read_only_tools: frozenset[str] = frozenset(
            name for name, one in self.tools.items() if isinstance(one, Tool) and one.read_only
        )
        acts = any(isinstance(one, Tool) for one in self.tools.values())
        asks = any(isinstance(one, AskUser) for one in self.tools.values())
        self.capabilities: AdapterCapabilities = replace(
            FunctionAdapter.capabilities,
            **dict.fromkeys(("approve", "decline", "edit"), acts),
            answer=asks,
            cancel=acts or asks,
        )
        self._instructions = instructions
        self._frontend_tools = frontend_tools
        self._max_rounds = max_rounds
        self._max_tokens = max_tokens
        self._function = FunctionAdapter(self._converse)

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: the endpoint was not reached, or refused, and nothing was said or done.
            UpstreamError: it broke off in the middle of a reply, or failed later.
        """
        begun = run.resume is not None or run.handoff is not None
        try:
            async with aclosing(self._function.run(run)) as items:
                async for item in items:
                    begun = True
                    yield item
        except UpstreamError as error:
            undelivered = error.__cause__
            if begun or not isinstance(undelivered, NotDelivered):
                raise
            raise undelivered from undelivered.__cause__

    async def aclose(self) -> None:
        """Close the connections."""
        await self.endpoint.aclose()

    async def _converse(self, run: FunctionRun) -> str | None:
        calls = CallAnswers(run, self.tools, self._applications_tools(run))
        handles = self.endpoint.handles
        messages: list[ChatMessage] = chat_messages(run.turns(), calls.names, handles)
        if self._instructions:
            messages.insert(0, {"role": "system", "content": self._instructions})
        tokens = 0
        spoken = False
        for number in range(1, self._max_rounds + 1):
            run.iteration = number
            left = unanswered_questions(run.closed) if number == 1 else []
            heard = [*messages, *unanswered_messages(left, calls.names)]
            reply = StreamedReply(self.endpoint, run, calls.hidden, calls.frontend)
            items = told_before(left, reply.items(heard, calls.offered))
            text = await run.stream("reply", items)
            # An older version remembered less of it; `left` is known to the first run alone.
            ended = await run.step("reply ended", partial(_outcome, reply, left))
            messages += unanswered_messages(ended.get("unanswered", ()), calls.names)
            spoken = spoken or bool(text)
            if not ended["calls"]:
                if ended.get("cut"):
                    run.end_reason = EndReason.CONTEXT_TOKEN_LIMIT
                    return f"\n\n{_CUT_OFF}" if text else _CUT_OFF
                return None if spoken else calls.excuse
            results = await asyncio.gather(*(calls.answer(call) for call in ended["calls"]))
            written = [
                call_message(call["id"], call["name"], result.arguments, calls.names)
                for call, result in zip(ended["calls"], results, strict=True)
            ]
            messages.append(reply_message(text, written, ended.get("reasoning", "")))
            messages += [
                {"role": "tool", "tool_call_id": call["id"], "content": result.text}
                for call, result in zip(ended["calls"], results, strict=True)
            ]
            tokens += ended["tokens"]
            if self._max_tokens is not None and tokens >= self._max_tokens:
                run.end_reason = EndReason.CONTEXT_TOKEN_LIMIT
                return _TOO_MANY_TOKENS.format(tokens)
        run.end_reason = EndReason.MAX_ITERATIONS_REACHED
        return _TOO_MANY_ROUNDS.format(self._max_rounds)

    def _applications_tools(self, run: FunctionRun) -> list[dict[str, Any]]:
        """The tools that the application brings along, as chat completions describe them."""
        if not self._frontend_tools:
            return []
        return [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters or {"type": "object", "properties": {}},
                },
            }
            for tool in run.input.tools or ()
            if tool.name not in self.tools
        ]


def _outcome(reply: StreamedReply, unanswered: list[dict[str, Json]]) -> dict[str, Json]:
    return {**reply.outcome(), "unanswered": unanswered}


def _by_name(tools: Sequence[Any]) -> dict[str, Tool | AskUser]:
    named: dict[str, Tool | AskUser] = {}
    for given in tools:
        one = given if isinstance(given, Tool | AskUser) else None
        if one is None:
            if not callable(given):
                raise ConfigurationError(
                    f"A tool is a function, not {given!r:.80}. Decorate one with @tool."
                )
            one = Tool(given)
        if one.name in named:
            raise ConfigurationError(f"Two tools are called {one.name!r}.")
        named[one.name] = one
    return named
