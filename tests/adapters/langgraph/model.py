"""A chat model of LangChain without a network, which does what messages say."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field

__all__ = ["SIGNATURE", "Call", "ScriptedModel", "asked_of", "mails"]

SIGNATURE = "signature-of-the-provider"
Call = tuple[str, dict[str, Any]]
_IDS = itertools.count(1)


class ScriptedModel(BaseChatModel):
    """Does what the last message of a person says, step by step.

    Attributes:
        steps: makes the calls of each step of a verb and its object.
        requests: the messages of each request.
        offered: the tools that the last request came with.
    """

    steps: Callable[[str, str], list[list[Call]]]
    requests: list[list[BaseMessage]] = Field(default_factory=list)
    offered: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        self.offered[:] = tools
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError("LangChain wants this of every model; nothing here calls it sync")

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        whole: Any = None
        async for chunk in self._astream(messages):
            whole = chunk.message if whole is None else whole + chunk.message
        made = AIMessage(whole.content, tool_calls=whole.tool_calls)
        return ChatResult(generations=[ChatGeneration(message=made)])

    async def _astream(
        self, messages: list[BaseMessage], *_: Any, **__: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        self.requests.append(list(messages))
        asked, calls = asked_of(messages)
        verb, _sep, rest = asked.partition(" ")
        if verb == "think" and not calls:
            thinking = {"type": "reasoning", "index": 0}
            yield _chunk(content=[{**thinking, "reasoning": "I think of "}])
            signed = {"reasoning": rest, "extras": {"signature": SIGNATURE}}
            yield _chunk(content=[{**thinking, **signed}])
            yield _chunk(content=[{"type": "text", "text": f"I thought of {rest}.", "index": 1}])
        elif verb == "slow":
            for word in itertools.chain(["Working. "], itertools.repeat("more ")):
                yield _chunk(content=word)
                await asyncio.sleep(0.05)
        elif wanted := _wanted(self.steps(verb, rest), calls):
            for word in re.findall(r"\S+\s*", "I will do it. "):
                yield _chunk(content=word)
            for place, (name, args) in enumerate(wanted):
                text, own = json.dumps(args), f"call-{next(_IDS)}"
                for part in _parts(name, own, text):
                    yield _chunk(content="", tool_call_chunks=[{**part, "index": place}])
        else:
            yield _chunk(content=f"Done with {calls} calls." if calls else "Hello.")
        usage = {"input_tokens": 5, "output_tokens": 3, "total_tokens": 8}
        yield ChatGenerationChunk(message=AIMessageChunk(content="", usage_metadata=usage))


def asked_of(messages: Sequence[BaseMessage]) -> tuple[str, int]:
    """What a person said last, and how many calls were made since."""
    text, calls = "", 0
    for message in messages:
        if isinstance(message, HumanMessage):
            text, calls = str(message.text), 0
        calls += len(getattr(message, "tool_calls", ()))
    return text, calls


def mails(verb: str, rest: str) -> list[list[Call]]:
    """The calls by which mails are written."""
    mail: Call = ("send_email", {"to": rest, "body": "original"})
    second: Call = ("send_email", {"to": f"second-{rest}", "body": "original"})
    look: Call = ("look_up", {"name": rest})
    steps: dict[str, list[list[Call]]] = {
        "send": [[mail]],
        "both": [[mail, second]],
        "twice": [[mail], [second]],
        "mixed": [[look, mail]],
        "sendlook": [[mail], [look]],
        "ask": [[("ask_user", {"question": rest})]],
        "asks": [[("ask_user", {"question": part}) for part in rest.split("+")]],
        "look": [[look]],
        "delegate": [[("delegate", {"task": rest})]],
        "wait": [[("wait", {})]],
        "slowlytwice": [[("look_up_slowly", {"name": rest})]] * 2,
        "slowly": [[("look_up_slowly", {"name": rest})]],
        "colour": [[("set_colour", {"colour": rest})]],
        "colourandsend": [[("set_colour", {"colour": rest}), mail]],
    }
    return steps.get(verb, [])


def _wanted(steps: list[list[Call]], calls: int) -> list[Call]:
    done = 0
    for step in steps:
        if calls == done:
            return step
        done += len(step)
    return []


def _parts(name: str, own: str, text: str) -> Iterator[dict[str, Any]]:
    yield {"name": name, "args": "", "id": own}
    for part in (text[:5], text[5:]):
        yield {"name": None, "args": part, "id": None}


def _chunk(**told: Any) -> ChatGenerationChunk:
    return ChatGenerationChunk(message=AIMessageChunk(**told))
