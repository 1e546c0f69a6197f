"""An agent of every framework in this process that pays."""

from __future__ import annotations

from collections.abc import Mapping

from tests.adapters.cashiers.adk import Adk
from tests.adapters.cashiers.agent_framework import AgentFramework
from tests.adapters.cashiers.agno import Agno
from tests.adapters.cashiers.cashier import PAINT, Cashier, Heard, by_place, by_tool
from tests.adapters.cashiers.langgraph import LangGraph, LangGraphNodes, LangGraphPerCall
from tests.adapters.cashiers.llama_index import LlamaIndex
from tests.adapters.cashiers.openai_agents import OpenAIAgents
from tests.adapters.cashiers.pydantic_ai import PydanticAI
from tests.adapters.cashiers.strands import Strands

__all__ = ["CASHIERS", "PAINT", "Cashier", "Heard", "by_place", "by_tool"]

CASHIERS: Mapping[str, type[Cashier]] = {
    "adk": Adk,
    "agent_framework": AgentFramework,
    "agno": Agno,
    "langgraph": LangGraph,
    "langgraph_nodes": LangGraphNodes,
    "langgraph_per_call": LangGraphPerCall,
    "llama_index": LlamaIndex,
    "openai_agents": OpenAIAgents,
    "pydantic_ai": PydanticAI,
    "strands": Strands,
}
