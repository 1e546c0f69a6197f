"""An agent of LangChain on a model without a network, whose effects are counted outside of it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from agui_bridge_langgraph import FrontendTools
from tests.adapters.langgraph.model import ScriptedModel, mails

__all__ = ["ANSWER_SCHEMA", "MODES", "REVIEWED", "Mailer"]

ANSWER_SCHEMA = {"type": "object", "required": ["answer"]}
REVIEWED = ("approve", "edit", "reject")
MODES: tuple[str, ...] = ("batched",)
"""How the middleware can pause, the best way first; up to langchain 1.4.5 there is one way."""
if "interrupt_mode" in inspect.signature(HumanInTheLoopMiddleware).parameters:
    MODES = ("per_call", *MODES)


class Mailer:
    """The agent, what its model was sent, and what its tools did.

    Args:
        effect: told of everything that is carried out.
        saver: the checkpointer.
        mode: how the middleware pauses.
        reviewed: the decisions that a mail takes.
        middleware: more of it.
        more: tools.
        agent: further arguments of `create_agent`.

    Attributes:
        done: what was carried out.
        tools, middleware: the agent's.
    """

    def __init__(
        self,
        effect: Callable[[Any], None] | None = None,
        *,
        saver: Any = None,
        mode: str = MODES[0],
        reviewed: Sequence[str] = REVIEWED,
        middleware: Sequence[Any] = (),
        more: Sequence[Callable[..., Any]] = (),
        **agent: Any,
    ) -> None:
        self.done: list[Any] = []
        self.begun = asyncio.Event()
        self.finish = asyncio.Event()
        self._effect = effect or self.done.append
        self.model = ScriptedModel(steps=mails)
        told: list[Callable[..., Any]] = [self.send_email, self.look_up, self.wait, self.ask_user]
        self.tools = [tool(one) for one in [*told, *more]]
        gated: Any = {"send_email": {"allowed_decisions": [*reviewed]}}
        pausing: dict[str, Any] = {"interrupt_mode": mode} if len(MODES) > 1 else {}
        review = HumanInTheLoopMiddleware(gated, **pausing)
        self.middleware: list[Any] = [review, FrontendTools(), *middleware]
        self.graph = create_agent(
            self.model,
            self.tools,
            middleware=self.middleware,
            checkpointer=saver or InMemorySaver(),
            **agent,
        )

    async def send_email(self, to: str, body: str = "Hi") -> str:
        """Send an email."""
        self._effect({"to": to, "body": body})
        if to.startswith("hang"):
            await asyncio.sleep(600)
        return f"sent to {to}"

    async def look_up(self, name: str) -> str:
        """Look somebody up."""
        self._effect(f"looked up {name}")
        return f"{name} is known"

    async def wait(self) -> str:
        """Work until somebody says that it is enough."""
        self.begun.set()
        await self.finish.wait()
        self._effect("waited")
        return "it is done"

    async def ask_user(self, question: str) -> str:
        """Ask the user."""
        schema = ANSWER_SCHEMA if question == "colour" else None
        answer = interrupt({"message": f"Which {question}?", "responseSchema": schema})
        if answer is not None or question != "colour":
            self._effect(answer)
        return f"answered {answer!r}"

    @property
    def requests(self) -> list[list[BaseMessage]]:
        """The messages of each request to the model."""
        return self.model.requests

    def told(self, request: int = -1) -> str:
        """All that the model was told in one request, as text."""
        return "\n".join(str(message) for message in self.requests[request])

    def results(self, name: str) -> list[Any]:
        """What the model was last told of the calls of a tool."""
        found = [m for m in self.requests[-1] if isinstance(m, ToolMessage)]
        return [m.content for m in found if m.name == name]
