"""Agno's agents and teams behind AG-UI, in this process.

Needs the extra `agno`.
"""

from agui_bridge_agno.adapter import AgnoAdapter

__all__ = ["AgnoAdapter"]
