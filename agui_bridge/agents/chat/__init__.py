"""Agents that are a chat model with tools, on any OpenAI-compatible endpoint.

Needs the extra `openai`.
"""

from agui_bridge.agents.chat.agent import ChatAgent
from agui_bridge.agents.chat.tools import Approval, AskUser, Tool, tool

__all__ = ["Approval", "AskUser", "ChatAgent", "Tool", "tool"]
