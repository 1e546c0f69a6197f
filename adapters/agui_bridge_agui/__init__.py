"""Any AG-UI endpoint behind the bridge, which adds what that endpoint lacks."""

from agui_bridge_agui.adapter import AguiAdapter

__all__ = ["AguiAdapter"]
