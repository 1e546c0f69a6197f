"""Agents and workflows of Microsoft's Agent Framework behind AG-UI, in this process.

Needs the extra `agent-framework`.
"""

from agui_bridge_agent_framework.adapter import AgentFrameworkAdapter

__all__ = ["AgentFrameworkAdapter"]
