"""An agent of ADK on a model without a network, whose effects are counted outside of it.

What the user says last makes the model act; agents below it have the same one.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

__all__ = ["SIGNATURE", "Call", "Mailer", "Scripted", "Thought"]

SIGNATURE = "signature-of-the-provider"


@dataclass
class Call:
    """A tool call of the model."""

    name: str
    args: dict[str, Any] = field(default_factory=dict)


@dataclass
class Thought:
    """Something that the model thinks."""

    text: str


class Scripted(BaseLlm):
    """A model that streams what a function of its request gives.

    Attributes:
        reply: gives texts, thoughts and calls.
    """

    model: str = "scripted"
    reply: Callable[[LlmRequest], AsyncIterator[str | Thought | Call]]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts: list[types.Part] = []
        async for one in self.reply(llm_request):
            if isinstance(one, Call):
                call = types.FunctionCall(name=one.name, args=one.args)
                parts.append(types.Part(function_call=call))
                continue
            text, thought = (one.text, True) if isinstance(one, Thought) else (one, None)
            part = types.Part(text=text, thought=thought)
            yield LlmResponse(content=types.Content(role="model", parts=[part]), partial=True)
            last = parts[-1] if parts else None
            if last is not None and last.text and last.thought == thought:
                last.text += text
            else:
                parts.append(part.model_copy())
        if parts and parts[0].thought:
            parts[0].thought_signature = SIGNATURE.encode()
        yield LlmResponse(
            content=types.Content(role="model", parts=parts),
            model_version="scripted-1",
            usage_metadata=types.GenerateContentResponseUsageMetadata(
                prompt_token_count=7, candidates_token_count=3, total_token_count=10
            ),
        )


class Mailer:
    """The agent, what its model was sent, and what its tools did.

    Args:
        effect: told of everything that is carried out.

    Attributes:
        requests: the contents of each request to a model.
        instructions: the instructions of the last one.
        speakers: name of the agent whose model each was sent to.
        done: what was carried out.
        agent: the agent, which may hand over to `sales`.
    """

    def __init__(self, effect: Callable[[Any], None] | None = None) -> None:
        self.requests: list[list[types.Content]] = []
        self.instructions = ""
        self.speakers: list[str] = []
        self.done: list[Any] = []
        self.begun = asyncio.Event()
        self.finish = asyncio.Event()
        self._effect = effect or self.done.append
        self._numbers = itertools.count(1)
        self.model = Scripted(reply=self._reply)
        self.mail_tool = FunctionTool(self.send_email, require_confirmation=True)
        self.tools: list[Any] = [
            self.mail_tool,
            FunctionTool(self.send_big, require_confirmation=lambda to: to.startswith("big")),
            self.look_up,
            self.look_up_slowly,
            self.wait,
            self.book,
            self.confirm_itself,
            self.set_colour,
            LongRunningFunctionTool(self.fetch),
            LongRunningFunctionTool(self.begin),
            LongRunningFunctionTool(self.adk_request_input),
        ]
        self.agent = self.make("mailer", sub_agents=[self.make("sales")])

    def make(self, name: str, **options: Any) -> LlmAgent:
        """An agent on the same model, with the same tools."""
        options = {"tools": list(self.tools), **options}
        return LlmAgent(name=name, model=self.model, description=f"Does {name}.", **options)

    async def send_email(self, to: str, body: str = "Hi") -> str:
        """Send an email."""
        self._effect({"to": to, "body": body})
        if to.startswith("hang"):
            await asyncio.sleep(600)
        return f"sent to {to}"

    async def send_big(self, to: str) -> str:
        """Send an email, which has to be approved if it is a big one."""
        self._effect({"to": to})
        return f"sent to {to}"

    async def look_up(self, name: str) -> str:
        """Look somebody up."""
        self._effect(f"looked up {name}")
        return f"{name} is known"

    async def look_up_slowly(self, name: str) -> str:
        """Look somebody up, for a moment."""
        await asyncio.sleep(0.25)
        self._effect(f"looked up {name}")
        return f"{name} is known"

    async def wait(self) -> str:
        """Work until somebody says that it is enough."""
        self.begun.set()
        await self.finish.wait()
        self._effect("waited")
        return "it is done"

    async def book(self, day: str, tool_context: ToolContext) -> Any:
        """Book a day, at an hour that a person names."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint=f"When on {day}?", payload={"hour": 0})
            return {"status": "asked"}
        if not tool_context.tool_confirmation.confirmed:
            return {"status": "not booked"}
        self._effect(tool_context.tool_confirmation.payload)
        return {"booked": tool_context.tool_confirmation.payload}

    async def confirm_itself(self, to: str, tool_context: ToolContext) -> Any:
        """Send an email once somebody says yes, which the tool asks by itself."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint=f"Really to {to}?")
            return {"status": "asked"}
        self._effect({"to": to})
        return f"sent to {to}"

    async def set_colour(self, colour: str, tool_context: ToolContext) -> str:
        """Choose a colour."""
        tool_context.state["colour"] = colour
        tool_context.state["user:name"] = f"fond of {colour}"
        tool_context.state["temp:mood"] = "calm"
        return "chosen"

    def fetch(self, key: str) -> None:
        """Have another system fetch something."""
        self._effect(f"fetching {key}")

    def begin(self, key: str) -> dict[str, str]:
        """Begin something that takes days."""
        return {"status": "pending", "key": key}

    def adk_request_input(
        self, message: str, response_schema: dict[str, Any] | None = None
    ) -> None:
        """Ask the user; later versions of ADK have it themselves."""

    @property
    def heard(self) -> Any:
        """What the last model was sent."""
        return [content.model_dump(mode="json", exclude_none=True) for content in self.requests[-1]]

    def told(self, request: int = -1) -> str:
        """All that a model was told in one request, as text."""
        return "\n".join(str(part) for c in self.requests[request] for part in c.parts or ())

    def results(self, name: str) -> list[Any]:
        """What a model was last told of the calls of a tool."""
        parts = [part for c in self.requests[-1] for part in c.parts or ()]
        responses = [p.function_response for p in parts if p.function_response is not None]
        return [response.response for response in responses if response.name == name]

    async def _reply(self, request: LlmRequest) -> AsyncIterator[str | Thought | Call]:
        self.requests.append([content.model_copy(deep=True) for content in request.contents])
        self.instructions = str(request.config.system_instruction)
        self.speakers.append(self.instructions.partition('internal name is "')[2].partition('"')[0])
        asked, calls = _asked(request.contents)
        word, _, rest = asked.partition(" ")
        named = set(request.tools_dict)
        if word == "think" and not calls:
            yield Thought("I think of ")
            yield Thought(rest)
            yield "I thought "
            yield f"of {rest}."
        elif word == "slow":
            yield "Working. "
            await asyncio.sleep(600)
        elif word.startswith("handoff") and self.speakers[-1] == "mailer":
            yield Call("transfer_to_agent", {"agent_name": "sales"})
        elif word == "every":
            # Once each time that it is asked: not when it has just been told a result.
            if any(part.function_response for part in request.contents[-1].parts or ()):
                yield "Sent."
            else:
                yield Call("send_email", {"to": rest, "body": str(calls)})
        elif wanted := _wanted(word, rest, calls, named):
            yield "I will do it. "
            for call in wanted:
                yield call
        else:
            yield f"Done with {calls} calls." if calls else "Hello."


def _asked(contents: list[types.Content]) -> tuple[str, int]:
    """What the user said last, and how many calls were answered since, transfers aside."""
    text, calls = "", 0
    for content in contents:
        for part in content.parts or ():
            if content.role == "user" and part.text and not part.text.startswith(("For ", "[")):
                text, calls = part.text, 0
            response = part.function_response
            calls += response is not None and response.name != "transfer_to_agent"
    return text, calls


def _wanted(word: str, rest: str, calls: int, named: set[str]) -> list[Call]:
    mail = Call("send_email", {"to": rest, "body": "original"})
    second = Call("send_email", {"to": f"second-{rest}", "body": "original"})
    look = Call("look_up", {"name": rest})
    names = (rest, f"second-{rest}")
    schema = {"type": "object", "required": ["answer"]}
    steps: dict[str, list[list[Call]]] = {
        "send": [[mail]],
        "handoff": [[mail]],
        "handoffwait": [[Call("wait")]],
        "handofflook": [[look]],
        "both": [[mail, second]],
        "twice": [[mail], [second]],
        "mixed": [[look, mail]],
        "look": [[look]],
        "sendlook": [[mail], [look]],
        "wait": [[Call("wait")]],
        "book": [[Call("book", {"day": rest})]],
        "itself": [[Call("confirm_itself", {"to": rest})]],
        "big": [[Call("send_big", {"to": rest})]],
        "fetch": [[Call("fetch", {"key": rest})]],
        "begin": [[Call("begin", {"key": rest})]],
        "colour": [[Call("set_colour", {"colour": rest})]],
        "colourandsend": [[Call("set_colour", {"colour": rest}), mail]],
        "slowlytwice": [[Call("look_up_slowly", {"name": name})] for name in names],
        "ask": [
            [Call("adk_request_input", {"message": f"Which {rest}?", "response_schema": schema})]
        ],
        "askany": [[Call("adk_request_input", {"message": f"Which {rest}?"})]],
        "delegate": [[Call("helper", {"request": f"send {rest}"})]],
        "delegatelook": [[Call("helper", {"request": f"look {rest}"})]],
        "frontend": [[Call("paint", {"what": rest})]],
        "frontendandsend": [[Call("paint", {"what": rest}), mail]],
    }
    done = 0
    for step in steps.get(word, []):
        if calls == done:
            return [call for call in step if call.name in named]
        done += len(step)
    return []
