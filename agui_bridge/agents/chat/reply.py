"""One reply of a model while it is streamed: what the client is shown, and what it came to."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ag_ui.core import ToolCallArgsEvent, ToolCallEndEvent, ToolCallStartEvent
from openai.types import CompletionUsage

from agui_bridge.agents.chat.endpoint import ChatEndpoint, ChatMessage
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.agents.function.run_acting import StreamItem
from agui_bridge.errors import UpstreamError
from agui_bridge.protocol.lifecycle.partial_json import completion
from agui_bridge.protocol.threads.records import Json

_STRETCH: Final = 2000
"""Characters of arguments that are told together once there are more, and of very long ones a
quarter: each look reads them all."""


@dataclass(slots=True)
class _Call:
    """A tool call that the model is writing."""

    native_id: str | None
    id: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    name: str = ""
    arguments: str = ""
    shown: bool = False
    sent: int = 0
    """Characters of the arguments that the client has."""
    broken: bool = False
    """Whether they are no beginning of JSON any more; the client is told no more of them."""


class StreamedReply:
    """One reply, read once.

    Args:
        endpoint: where it comes from.
        run: for usage, and for headers that join its trace.
        hidden: names of tools whose calls the client is not shown while they are written.
        frontend: names of the application's tools, as they are offered for this reply.
    """

    def __init__(
        self,
        endpoint: ChatEndpoint,
        run: FunctionRun,
        hidden: Collection[str],
        frontend: Collection[str],
    ) -> None:
        self._endpoint = endpoint
        self._run = run
        self._hidden = hidden
        self._frontend = frontend
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._usage: CompletionUsage | None = None
        self._tokens = 0
        self._thoughts: list[str] = []
        self._cut = False
        self._writing: _Call | None = None

    async def items(
        self, messages: Sequence[ChatMessage], tools: Sequence[Mapping[str, Any]]
    ) -> AsyncGenerator[StreamItem, None]:
        """Ask the model; yield its text and the calls that it writes, as they come.

        Args:
            messages: the conversation.
            tools: what it may call, as chat completions describe it.

        Raises:
            NotDelivered, UpstreamError: see `ChatEndpoint.reply`.
            UpstreamError: a filter withheld the rest.
        """
        try:
            async for chunk in self._endpoint.reply(messages, tools, self._run.trace_headers):
                # Servers that count in every chunk count from the beginning.
                self._usage = chunk.usage or self._usage
                for choice in getattr(chunk, "choices", None) or ():
                    thought = (choice.delta.model_extra or {}).get("reasoning_content")
                    if isinstance(thought, str):
                        self._thoughts.append(thought)
                    if text := choice.delta.content or choice.delta.refusal:
                        yield text
                    for part in choice.delta.tool_calls or ():
                        for event in self._take(part):
                            yield event
                    if choice.finish_reason == "content_filter":
                        raise UpstreamError("The model's server withheld the rest of a reply.")
                    self._cut = self._cut or choice.finish_reason == "length"
        finally:
            self._count()
        for call in self._calls:
            for event in (*self._start(call), *self._end(call)):
                yield event

    def outcome(self) -> dict[str, Json]:
        """What the reply came to, once it was read to its end.

        Returns:
            `{"calls": [{"id", "name", "arguments", "cut", "frontend"}, …], "tokens": …, "cut": …,
            "reasoning": …}`: the calls with ids of ours, their arguments as text, whether these may
            end before they are complete, and whether the tool is the application's; the tokens that
            the reply took, 0 if nobody counted; whether it came to its limit of tokens; what the
            model thought, as the server told it, "" if it told nothing.
        """
        calls: list[Json] = [
            {
                "id": call.id,
                "name": call.name,
                "arguments": call.arguments,
                # Servers close what was cut off, so that it reads like whole arguments.
                "cut": self._cut and (call is self._writing or not call.arguments),
                "frontend": call.name in self._frontend,
            }
            for call in self._calls
        ]
        return {
            "calls": calls,
            "tokens": self._tokens,
            "cut": self._cut,
            "reasoning": "".join(self._thoughts),
        }

    def _take(self, part: Any) -> Iterator[StreamItem]:
        """Add one fragment of a call: the first names it, all of them bring arguments."""
        call = self._by_index.get(part.index)
        if call is None or _is_another(part, call):
            call = _Call(part.id)
            self._calls.append(call)
            self._by_index[part.index] = call
        self._writing = call
        function = part.function
        if function is None:
            return
        if not call.shown:
            call.name += function.name or ""
        if function.arguments:
            call.arguments += function.arguments
            if not call.name:
                return
            yield from self._start(call)
            size = len(call.arguments)
            if size <= _STRETCH or size - call.sent >= max(_STRETCH, size // 4):
                yield from self._tell_arguments(call)

    def _tell_arguments(self, call: _Call) -> Iterator[StreamItem]:
        if call.broken or call.name in self._hidden:
            return
        call.broken = completion(call.arguments) is None
        if not call.broken and call.sent < len(call.arguments):
            yield ToolCallArgsEvent(tool_call_id=call.id, delta=call.arguments[call.sent :])
            call.sent = len(call.arguments)

    def _start(self, call: _Call) -> Iterator[StreamItem]:
        """Show a call, once: its name is whole when its arguments begin, or the reply ends."""
        if not call.shown and call.name not in self._hidden:
            yield ToolCallStartEvent(tool_call_id=call.id, tool_call_name=call.name)
        call.shown = True

    def _end(self, call: _Call) -> Iterator[StreamItem]:
        yield from self._tell_arguments(call)
        if call.name not in self._hidden:
            # Whatever the model wrote, clients parse what they are told.
            if suffix := completion(call.arguments[: call.sent]):
                yield ToolCallArgsEvent(tool_call_id=call.id, delta=suffix)
            yield ToolCallEndEvent(tool_call_id=call.id)

    def _count(self) -> None:
        usage = self._usage
        if usage is None:
            return
        known = usage_of(usage)
        self._run.usage.append({"model": self._endpoint.model, **known})
        total = known.get("totalTokens")
        self._tokens += total or known.get("inputTokens", 0) + known.get("outputTokens", 0)


def usage_of(usage: CompletionUsage) -> dict[str, int]:
    """What a server counted, as AG-UI calls it."""
    # Not every server counts all of them, whatever the client's types say.
    counts: dict[str, int | None] = {
        "inputTokens": usage.prompt_tokens,
        "outputTokens": usage.completion_tokens,
        "totalTokens": usage.total_tokens,
    }
    if (given := usage.prompt_tokens_details) is not None:
        counts["cachedInputTokens"] = given.cached_tokens
    if (told := usage.completion_tokens_details) is not None:
        counts["reasoningTokens"] = told.reasoning_tokens
    return {name: count for name, count in counts.items() if count is not None}


def _is_another(part: Any, call: _Call) -> bool:
    """Whether a fragment begins another call: some servers have no index, or one for all calls."""
    if part.id and call.native_id:
        # What comes again under one id may be an echo: nothing of it runs, rather than twice.
        return bool(part.id != call.native_id)
    # Nor have some an id. Arguments that are whole go on in no fragment.
    function = part.function
    return bool(
        function
        and function.name
        and (function.arguments or "").strip()
        and call.arguments.rstrip().endswith("}")
        and completion(call.arguments) == ""
    )
