"""The desk's team: people talk to the warehouse here, and it knows of it only an address.

python -m examples.a2a_teams.desk
"""

from __future__ import annotations

import os

from agui_bridge import Bridge
from agui_bridge_a2a import A2AAdapter
from examples.guide import Answer, Say, serve_with_guide

WAREHOUSE = os.environ.get("WAREHOUSE", "http://127.0.0.1:8788/a2a/warehouse")

bridge = Bridge("memory:")
bridge.add("desk", A2AAdapter(WAREHOUSE), description="Takes orders to the warehouse.")


def main() -> None:
    """Serve the desk, and print what to try."""
    serve_with_guide(
        bridge,
        "desk",
        Say("The warehouse asks how many, over A2A; here it is a form.", "hats"),
        Answer("Too many: the desk refuses it, and the warehouse hears nothing.", {"pieces": 500}),
        Answer("It asks whether it may ship them.", {"pieces": 12}),
        Answer("Approve it: the warehouse ships them, once.", {"approved": True}),
    )


if __name__ == "__main__":
    main()
