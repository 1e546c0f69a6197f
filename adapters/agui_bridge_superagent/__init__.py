"""A remote SuperAgent-compatible server behind AG-UI.

::

    bridge.add("approval", SuperAgentAdapter("http://agents:8888", "approval-agent"))

Source: SuperAgent's page "Interrupt/Resume".
"""

from agui_bridge_superagent.adapter import SuperAgentAdapter

__all__ = ["SuperAgentAdapter"]
