"""Agents that are functions: they ask in the middle, and go on after a restart."""

from agui_bridge.agents.function.adapter import FunctionAdapter

__all__ = ["FunctionAdapter"]
