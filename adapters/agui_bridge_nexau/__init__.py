"""NexAU agents behind agui-bridge, over NexAU's own HTTP server."""

from agui_bridge_nexau.adapter import NexauAdapter

__all__ = ["NexauAdapter"]
