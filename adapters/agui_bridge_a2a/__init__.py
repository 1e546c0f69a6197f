"""An agent behind the Agent2Agent protocol (A2A), behind AG-UI.

::

    bridge.add("travel", A2AAdapter("https://travel.example.com"))

Source: the A2A specification, versions 1.0 and 0.3.
"""

from agui_bridge_a2a.adapter import A2AAdapter

__all__ = ["A2AAdapter"]
