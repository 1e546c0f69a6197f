"""Workflows that ask, whose effects are counted outside of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Never

from agent_framework import (
    AgentExecutor,
    Executor,
    SupportsAgentRun,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowExecutor,
    handler,
    register_checkpoint_type,
    response_handler,
)

__all__ = ["Question", "Where", "agents", "as_agent", "below", "orders"]


@dataclass
class Question:
    """What is asked for an order."""

    prompt: str
    item: str


@dataclass
class Where:
    """Where an order goes."""

    street: str
    number: int = 1


for kind in (Question, Where):
    register_checkpoint_type(kind)


class Order(Executor):
    """Orders what the user says: asks for the address, and is done once for each item.

    Args:
        effect: told of everything that is carried out.
    """

    def __init__(self, effect: Callable[[Any], None]) -> None:
        super().__init__(id="order")
        self._effect = effect

    @handler
    async def begin(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        """Ask for each item's address."""
        if text.startswith("hello"):
            await ctx.yield_output("Hello.")
            return
        if text.startswith("break"):
            raise RuntimeError("no such luck")
        for item in text.split():
            await ctx.request_info(Question(f"Where does {item} go?", item), Where)

    @response_handler
    async def sent(self, asked: Question, where: Where, ctx: WorkflowContext[Never, str]) -> None:
        """Send it; a street called again is asked for again."""
        if where.street == "again":
            await ctx.request_info(
                Question(f"Where, please, does {asked.item} go?", asked.item), Where
            )
            return
        self._effect({"item": asked.item, "street": where.street, "number": where.number})
        await ctx.yield_output(f"Sent {asked.item} to {where.street}.")


def orders(effect: Callable[[Any], None]) -> Workflow:
    """A workflow of one executor that asks."""
    return WorkflowBuilder(start_executor=Order(effect), name="orders").build()


def agents(agent: SupportsAgentRun) -> Workflow:
    """A workflow of one agent, whose tools want approvals."""
    executor = AgentExecutor(agent, id="mailer")
    return WorkflowBuilder(start_executor=executor, name="agents").build()


def below(inner: Workflow) -> Workflow:
    """A workflow whose executor is another one."""
    executor = WorkflowExecutor(inner, id="inner", propagate_request=True)
    return WorkflowBuilder(start_executor=executor, name="outer").build()


def as_agent(inner: Workflow) -> Workflow:
    """A workflow whose agent is another one."""
    executor = AgentExecutor(inner.as_agent("inner"), id="inner")
    return WorkflowBuilder(start_executor=executor, name="outer").build()
