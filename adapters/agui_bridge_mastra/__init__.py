"""Agents, networks and workflows of a remote Mastra server behind AG-UI."""

from agui_bridge_mastra.adapter import MastraAdapter

__all__ = ["MastraAdapter"]
