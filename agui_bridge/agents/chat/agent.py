"""A chat model with tools as an agent, on any OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any, Final

from agui_bridge.adapters import AdapterCapabilities, Checkpoint, Run, RunItem
from agui_bridge.agents.chat.calls import (
    CallAnswers,
    told_before,
    unanswered_messages,
    unanswered_questions,
)
from agui_bridge.agents.chat.endpoint import (
    ChatEndpoint,
    ChatMessage,
    call_message,
    chat_messages,
    reply_message,
)
from agui_bridge.agents.chat.reply import StreamedReply, usage_of
from agui_bridge.agents.chat.tools import AskUser, Tool, ToolSource
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.errors import ConfigurationError, NotDelivered, UpstreamError
from agui_bridge.frameworks.a2ui.drawing import surfaces_of
from agui_bridge.frameworks.a2ui.offer import GENERATE, Offer, page_of
from agui_bridge.frameworks.a2ui.settings import A2UI, WHERE_OFFERED
from agui_bridge.frameworks.application import Application, ContextOption, with_words
from agui_bridge.frameworks.predicted_state import PredictState, predicted
from agui_bridge.protocol.argument_types import checked_arguments
from agui_bridge.protocol.threads.records import Json
from agui_bridge.protocol.threads.run_ends import EndReason

# --- the tool by which a chat model makes surfaces of a page ---


class SurfaceTool(Tool):
    """Has the model draw a surface, in a request of its own.

    Args:
        run: the run.
        offer: the client's.
        endpoint: where the model is.
        said: the conversation, as it is when the tool is called.
    """

    def __init__(
        self, run: Run, offer: Offer, endpoint: ChatEndpoint, said: Sequence[ChatMessage]
    ) -> None:
        self._run = run
        self._offer = offer
        self._endpoint = endpoint
        self._said = said
        self._surfaces = surfaces_of(run, offer)
        super().__init__(
            self._generate, name=GENERATE, description=offer.description, editable=False
        )
        self.parameters = offer.parameters

    async def _generate(
        self,
        intent: str = "create",
        target_surface_id: str | None = None,
        changes: str | None = None,
    ) -> str:
        args = {"intent": intent, "target_surface_id": target_surface_id, "changes": changes}
        return await self._surfaces.make(args, self._pieces)

    async def _pieces(self, prompt: str) -> AsyncIterator[str]:
        """The arguments of the first call that the model writes."""
        tool: Mapping[str, Any] = {"type": "function", "function": self._offer.draw}
        said = [message for message in self._said if message["role"] != "system"]
        reply = self._endpoint.reply(
            [{"role": "system", "content": prompt}, *said],
            [tool],
            self._run.trace_headers,
            must_call=self._offer.draw["name"],
        )
        usage, own = None, None
        async with aclosing(reply) as chunks:
            async for chunk in chunks:
                usage = chunk.usage or usage
                for choice in getattr(chunk, "choices", None) or ():
                    for part in choice.delta.tool_calls or ():
                        own = part.index if own is None else own
                        if part.index == own and part.function and part.function.arguments:
                            yield part.function.arguments
        if usage is not None:
            self._run.usage.append({"model": self._endpoint.model, **usage_of(usage)})


# --- the agent ---

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
        tools: functions (see `tool`), which the model may call as they are, `AskUser`, and
            `agui_bridge.mcp.MCPServers`, whose tools are listed when a run begins.
        instructions: what the conversation begins with; empty for none.
        frontend_tools: whether the model may call the tools that the application brings along.
        max_rounds: replies with tool calls in one run, at most.
        max_tokens: tokens in one run, of questions and replies together; no further reply is asked
            for beyond. None sets no limit.
        base_url: of the endpoint; by default OPENAI_BASE_URL, or OpenAI's own.
        api_key: by default OPENAI_API_KEY; an endpoint that needs none gets a word of no meaning.
        timeout: seconds that the model may be silent.
        retries: how often a request is tried again that failed before its first token.
        context: what the model is told of the page; see `Application`.
        client_instructions: whether it is told the client's `system` messages.
        predict_state: which arguments of calls show in the page's state while they stream.
        options: members of the request besides, such as `temperature`; also those that only this
            server knows.
        a2ui: the surfaces that it may make of a page that offers A2UI; None: none.

    Attributes:
        read_only_tools: names of its tools that only look.
        capabilities: it asks only if it has tools, or may make surfaces; its own and the
            application's are all that a policy has to judge.
        asks_by_policy_alone: whether nobody is asked to approve anything unless a policy says so.

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
        context: ContextOption = "model",
        client_instructions: bool = False,
        predict_state: Sequence[PredictState] = (),
        options: Mapping[str, Any] | None = None,
        a2ui: A2UI | None = WHERE_OFFERED,
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
        self._sources = [one for one in tools if isinstance(one, ToolSource)]
        self.tools: Mapping[str, Tool | AskUser] = _by_name(
            [one for one in tools if not isinstance(one, ToolSource)]
        )
        self.read_only_tools: frozenset[str] = frozenset(
            name for name, one in self.tools.items() if isinstance(one, Tool) and one.read_only
        )
        acts = bool(self._sources) or any(isinstance(one, Tool) for one in self.tools.values())
        asks = any(isinstance(one, AskUser) for one in self.tools.values())
        self.capabilities: AdapterCapabilities = replace(
            FunctionAdapter.capabilities,
            # A policy may have people asked about a surface, too; nobody edits one.
            **dict.fromkeys(("approve", "decline"), acts or a2ui is not None),
            edit=acts,
            # Any tool may ask in its middle.
            answer=acts or asks,
            cancel=acts or asks or a2ui is not None,
            subagents=a2ui is not None,
        )
        self.asks_by_policy_alone: bool = not acts
        self._instructions = instructions
        self._application = Application(context, client_instructions)
        self._predictions = tuple(predict_state)
        self._a2ui = a2ui
        self._frontend_tools = frontend_tools
        self._max_rounds = max_rounds
        self._max_tokens = max_tokens

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: the endpoint was not reached, or refused, and nothing was said or done.
            UpstreamError: it broke off in the middle of a reply, or failed later.
        """
        goes_on = (run.resume, run.handoff, run.standing)
        begun = any(part is not None for part in goes_on)
        try:
            function = FunctionAdapter(partial(self._converse, run))
            async with aclosing(function.run(run)) as items:
                async for item in items:
                    begun = begun or not isinstance(item, Checkpoint)
                    for told in predicted((item,), self._predictions):
                        yield told
        except UpstreamError as error:
            undelivered = error.__cause__
            if begun or not isinstance(undelivered, NotDelivered):
                raise
            raise undelivered from undelivered.__cause__

    async def aclose(self) -> None:
        """Close the connections."""
        await self.endpoint.aclose()

    async def _converse(self, given: Run, run: FunctionRun) -> str | None:
        page = page_of(given, self._a2ui, self.tools)
        words = self._application.words(run, page.context)
        tools = {**self.tools}
        for source in self._sources:
            if await source.serve_view(run):
                return None
            for one in await source.chat_tools(run):
                tools.setdefault(one.name, one)
        messages = list[ChatMessage]()
        if page.offer is not None:
            tools[GENERATE] = SurfaceTool(given, page.offer, self.endpoint, messages)
        calls = CallAnswers(run, tools, self._applications_tools(page.tools))
        handles = self.endpoint.handles
        turns = with_words(run.turns(), words)
        messages += chat_messages(turns, calls.names, handles)
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
            # An older version remembered less of it; `left` is known to the first run alone.
            outcome = partial(_outcome, reply, left)
            text, ended = await run.stream_with(
                "reply", items, "reply ended", outcome, idempotent=True
            )
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

    def _applications_tools(self, tools: Sequence[Any]) -> list[dict[str, Any]]:
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
            for tool in tools
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
