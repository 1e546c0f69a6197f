"""Flows behind AG-UI."""

from agui_bridge_flows.adapter import FlowsAdapter

__all__ = ["FlowsAdapter"]
