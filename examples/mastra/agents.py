"""The bridge: four ways to have one network, and an agent, of a Mastra server."""

from __future__ import annotations

import os

from agui_bridge import Bridge
from agui_bridge_mastra import MastraAdapter

MASTRA = os.environ.get("MASTRA_URL", "http://127.0.0.1:4100")

# Mastra has no HTTP route that resumes a network. This is the server's own.
RESUME = "/x/agents/{agent}/resume-network"

bridge = Bridge("memory:")


def network() -> MastraAdapter:
    """The routing agent, as a network."""
    return MastraAdapter(MASTRA, "routing-agent", kind="network", resume_network_path=RESUME)


bridge.add("network", network(), description="Pauses for approvals and for data.")
bridge.add("chatty", network(), description="Takes plain messages as answers.", auto_resume="on")
bridge.add("on-request", network(), description="The same, if asked to.", auto_resume="request")
bridge.add("records", MastraAdapter(MASTRA, "records-agent"), description="A single agent.")
