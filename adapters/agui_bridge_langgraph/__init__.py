"""LangGraph's graphs and LangChain's agents behind AG-UI, in this process.

Needs the extra `langgraph`.
"""

from agui_bridge_langgraph.adapter import LangGraphAdapter
from agui_bridge_langgraph.calls.frontend import FrontendTools

__all__ = ["FrontendTools", "LangGraphAdapter"]
