"""Workflows of ADK on a model without a network, whose effects are counted outside of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from google.adk import Agent, Event, Workflow
from google.adk.events import RequestInput
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import FunctionNode, JoinNode
from pydantic import BaseModel

from examples.adk.model import Call, OfflineModel

__all__ = ["Flows"]


class TimeOff(BaseModel):
    """What is asked for."""

    days: int
    reason: str


class Decision(BaseModel):
    """What a manager says."""

    approved: bool
    approved_days: int | None = None


class Flows:
    """Workflows, and what their nodes did.

    Attributes:
        done: what was carried out.
        read: what each model was asked with, as text.
        begun: set when a node begins that waits for `finish`.
    """

    def __init__(self, done: list[Any] | None = None) -> None:
        self.done: list[Any] = [] if done is None else done
        self.read: list[str] = []
        self.begun = asyncio.Event()
        self.finish = asyncio.Event()

    # --- what nodes do ---

    def pay(self, to: str) -> str:
        """Pay somebody."""
        self.done.append(f"paid {to}")
        return f"{to} has it"

    def book(self, to: str, tool_context: ToolContext) -> Any:
        """Book a table at an hour that a person names."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="When?", payload={"hour": 0})
            return {"status": "asked"}
        self.done.append(("booked", tool_context.tool_confirmation.payload))
        return "booked"

    def drop(self, node_input: Any) -> str:
        """Drop a table."""
        self.done.append(f"dropped {node_input['to']}")
        return "dropped"

    def whom(self) -> dict[str, Any]:
        """Say whom it is about."""
        return {"to": "ann"}

    async def wait(self, node_input: Any) -> str:
        """Work until somebody says that it is enough."""
        self.begun.set()
        await self.finish.wait()
        self.done.append("waited")
        return "waited"

    def cut_off(self, node_input: Any) -> None:
        """Be cancelled from within."""
        raise asyncio.CancelledError

    # --- workflows ---

    def time_off(self) -> Workflow:
        """The official sample `request_input_advanced`."""

        async def extract(request: Any) -> AsyncIterator[Any]:
            self.read.append(str(request.contents))
            days = 3 if "three" in str(request.contents[-1]) else 1
            yield f'{{"days": {days},'
            yield ' "reason": "sick"}'

        def evaluate_request(request: TimeOff) -> Any:
            if request.days <= 1:
                return Decision(approved=True)
            return RequestInput(
                interrupt_id="manager_approval",
                message="Please review this time off request.",
                payload=request,
                response_schema=Decision,
            )

        def process_decision(request: TimeOff, node_input: Decision) -> Iterator[Event]:
            days = (
                node_input.approved_days if node_input.approved_days is not None else request.days
            )
            self.done.append((node_input.approved, days))
            told = f"Approved: {days} of {request.days} days." if node_input.approved else "Denied."
            yield Event(message=told)

        process_request = Agent(
            name="process_request",
            model=OfflineModel(reply=extract),
            output_schema=TimeOff,
            output_key="request",
        )
        edges: Any = [("START", process_request, evaluate_request, process_decision)]
        return Workflow(name="request_input_advanced", edges=edges)

    def of(self, *nodes: Any, **more: Any) -> Workflow:
        """Nodes one after the other; the first gives whom it is about, the last tells what came."""

        def whom() -> dict[str, Any]:
            return {"to": "ann", **more}

        def tell(node_input: Any) -> Any:
            yield Event(message=f"Got {node_input}.")

        edges: Any = [("START", whom, *nodes, tell)]
        return Workflow(name="flow", edges=edges)

    def payment(self, *, gated: bool = True) -> FunctionTool:
        """A tool, for a node or for a model."""
        return FunctionTool(self.pay, require_confirmation=gated)

    def dropping(self, func: Any = None, **options: Any) -> FunctionNode:
        """A function that has to be approved."""
        return FunctionNode(
            func=func or self.drop, require_confirmation=True, rerun_on_resume=True, **options
        )

    def fail_once(self, node_input: Any = None) -> str:
        """Fail at the first try."""
        self.done.append("tried")
        if len(self.done) == 1:
            raise ValueError("flaky")
        return "done"

    def payer(self, name: str, to: str) -> Agent:
        """An agent that pays, if people let it."""

        async def reply(request: Any) -> AsyncIterator[Any]:
            self.read.append(str(request.contents))
            if any(part.function_response for part in request.contents[-1].parts or ()):
                yield f"{name} is done."
            else:
                yield Call("pay", {"to": to})

        return Agent(name=name, model=OfflineModel(reply=reply), tools=[self.payment()])

    def at_once(self) -> Workflow:
        """Two agents at once, each of which has to ask; what they say is joined."""
        one, two, join = self.payer("one", "ann"), self.payer("two", "bob"), JoinNode(name="join")

        def tell(node_input: Any) -> Any:
            yield Event(message=f"Both: {len(node_input)}.")

        edges: Any = [("START", (one, two), join, tell)]
        return Workflow(name="flow", edges=edges)

    def questions_at_once(self) -> Workflow:
        """Two nodes that ask at once."""

        def colour() -> RequestInput:
            return RequestInput(message="Which colour?")

        def size() -> RequestInput:
            return RequestInput(message="Which size?", response_schema=str)

        join = JoinNode(name="join")

        def tell(node_input: Any) -> Any:
            self.done.append(node_input)
            yield Event(message="Thanks.")

        edges: Any = [("START", (colour, size), join, tell)]
        return Workflow(name="flow", edges=edges)
