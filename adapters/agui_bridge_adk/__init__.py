"""Google ADK's agents behind AG-UI, in this process.

Needs the extra `adk`.
"""

from agui_bridge_adk.adapter import AdkAdapter

__all__ = ["AdkAdapter"]
