"""The bridge before a graph on LangGraph's server, which gets only answers that fit.

python -m examples.langgraph_server
"""

from __future__ import annotations

import os

from agui_bridge import Bridge
from agui_bridge_langgraph_server import LangGraphServerAdapter
from examples.guide import Answer, Say, serve_with_guide

SERVER = os.environ.get("LANGGRAPH_SERVER", "http://127.0.0.1:2024")

bridge = Bridge("memory:")
bridge.add(
    "deployer",
    LangGraphServerAdapter(SERVER, "deployer"),
    description="Deploys the service that you name.",
)


def main() -> None:
    """Serve the graph of the server, and print what to try."""
    serve_with_guide(
        bridge,
        "deployer",
        Say("The graph asks for a number.", "deploy shop"),
        Answer("A text is refused here: LangGraph's server would take it.", "two"),
        Answer("It deploys two replicas.", 2),
    )


if __name__ == "__main__":
    main()
