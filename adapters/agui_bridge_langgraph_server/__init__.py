"""Graphs of LangGraph on a server of their own, behind AG-UI.

::

    bridge.add("ops", LangGraphServerAdapter("http://127.0.0.1:2024", "agent"))

Source: the API of LangGraph's server (`langgraph dev`, Agent Server), as langgraph-sdk has it.
Needs the extra `langgraph-server`.
"""

from agui_bridge_langgraph_server.adapter import LangGraphServerAdapter

__all__ = ["LangGraphServerAdapter"]
