"""Agents of the OpenAI Agents SDK behind AG-UI, in this process.

Needs the extra `openai-agents`.
"""

from agui_bridge_openai_agents.adapter import OpenAIAgentsAdapter

__all__ = ["OpenAIAgentsAdapter"]
