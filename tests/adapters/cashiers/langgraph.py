"""The cashiers of LangGraph: agents of LangChain, and a graph made by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt

from agui_bridge import Adapter
from agui_bridge_langgraph import FrontendTools, LangGraphAdapter
from tests.adapters.cashiers.cashier import Cashier, Heard, called
from tests.adapters.langgraph.mailer import MODES

__all__ = ["CashierModel", "LangGraph", "LangGraphNodes", "LangGraphPerCall"]


@dataclass
class LangGraph(Cashier):
    """An agent of LangChain, whose middleware asks about all calls of a reply together."""

    nests = 2
    notes_edits = True
    mode: ClassVar[str] = "batched"
    saver: Any = field(default_factory=InMemorySaver)

    def adapter(self) -> Adapter:
        graph, *inner = self.graphs()
        return LangGraphAdapter(graph, inner=inner, **self.options)

    def graphs(self) -> tuple[Any, ...]:
        """The graph, and those that tools of it call."""
        model = self.model or CashierModel(cashier=self)
        inner = create_agent(model, [tool(self.pay)], middleware=self.middleware())

        async def clerk(input: str) -> str:
            """Have a clerk do it."""
            told = await inner.ainvoke({"messages": [{"role": "user", "content": input}]})
            return str(told["messages"][-1].text)

        graph = create_agent(
            model,
            self.tools(tool(self.pay), tool(self.look), tool(clerk)),
            middleware=self.middleware(),
            checkpointer=self.saver,
        )
        return graph, inner

    def middleware(self) -> list[Any]:
        if not self.gated:
            return [FrontendTools()]
        pausing: Any = {"interrupt_mode": self.mode} if len(MODES) > 1 else {}
        return [HumanInTheLoopMiddleware({"pay": True}, **pausing), FrontendTools()]


class LangGraphPerCall(LangGraph):
    mode = "per_call"


class LangGraphNodes(LangGraph):
    """A graph made by hand: one task for all calls of a reply, and a tool that asks by itself."""

    edits = (False,)
    explains = False
    hands_over = False
    nests = 0

    def graphs(self) -> tuple[Any, ...]:
        def pay(to: str) -> str:
            """Pay somebody."""
            if self.gated and interrupt(f"Pay {to}?") not in (True, {"approved": True}):
                return "not paid"
            return self.pay(to)

        model = CashierModel(cashier=self)

        async def think(state: Any) -> Any:
            return {"messages": [await model.ainvoke(state["messages"])]}

        builder = StateGraph(MessagesState)
        builder.add_node("think", think)
        builder.add_node("tools", ToolNode(self.tools(tool(pay), tool(self.look))))
        builder.add_edge(START, "think")
        builder.add_conditional_edges("think", tools_condition)
        builder.add_edge("tools", "think")
        return (builder.compile(checkpointer=self.saver),)


class CashierModel(BaseChatModel):
    cashier: Any

    @property
    def _llm_type(self) -> str:
        return "cashier"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def _astream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        heard: list[Heard] = []
        for one in messages:
            if isinstance(one, HumanMessage):
                heard.append(Heard("user", "", str(one.text)))
            elif isinstance(one, ToolMessage):
                heard.append(Heard("tool", one.tool_call_id, str(one.text)))
            elif isinstance(one, AIMessage):
                heard += [called(str(c["id"]), c["args"]) for c in one.tool_calls]
        uses = self.cashier.reply(heard)
        if not uses:
            yield ChatGenerationChunk(message=AIMessageChunk(content="Done."))
        for place, use in enumerate(uses):
            parts: list[dict[str, Any]] = [
                {"name": use.name, "args": use.text[:4], "id": use.id, "index": place},
                {"name": None, "args": use.text[4:], "id": None, "index": place},
            ]
            for part in parts:
                chunk = AIMessageChunk(content="", tool_call_chunks=[part])
                yield ChatGenerationChunk(message=chunk)
