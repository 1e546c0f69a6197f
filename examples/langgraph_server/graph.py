"""A graph that knows nothing of the bridge: it asks by `interrupt` before it deploys."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt


def deploy(state: MessagesState) -> dict[str, Any]:
    """Ask how a service is to be released, and do so."""
    service = str(state["messages"][-1].content).removeprefix("deploy ")
    question = {
        "message": f"How many replicas of {service}? 0 leaves it as it is.",
        "responseSchema": {"type": "integer", "minimum": 0, "maximum": 5},
    }
    replicas: int = interrupt(question)
    said = f"{service} runs with {replicas} replicas." if replicas else "Nothing was deployed."
    return {"messages": [AIMessage(said)]}


builder = StateGraph(MessagesState)
builder.add_node(deploy)
builder.add_edge(START, "deploy")
graph = builder.compile()
