"""A remote SuperAgent-compatible server behind AG-UI.

::

    bridge.add("approval", SuperAgentAdapter("http://agents:8888", "approval-agent"))

Source: seed 000_9c3a40ec0d8c2fa7.txt.
"""

from agui_bridge_superagent.adapter import SuperAgentAdapter

__all__ = ["SuperAgentAdapter"]
