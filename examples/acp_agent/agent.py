"""A coding agent behind the bridge: what it wants to write is approved, also when it has ended.

python -m examples.acp_agent.agent
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from agui_bridge import Bridge
from agui_bridge_acp import AcpAdapter
from examples.guide import Answer, Say, serve_with_guide

FOLDER = Path(os.environ.get("CODER_FOLDER", "coder")).resolve()
"""Where it works; its homes are beside it."""

bridge = Bridge("memory:")
bridge.add(
    "coder",
    AcpAdapter(
        [sys.executable, "-m", "examples.acp_agent.coder"],
        cwd=FOLDER,
        homes=FOLDER.with_name(FOLDER.name + "-homes"),
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
    ),
    description="Writes what you tell it into notes.txt.",
)


def main() -> None:
    """Serve the coder, and print what to try."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    serve_with_guide(
        bridge,
        "coder",
        Say("It wants to write into a file, and asks.", "Buy a hat."),
        Answer(
            "Approve it: it is told so, proposes the call again, and writes.", {"approved": True}
        ),
    )


if __name__ == "__main__":
    main()
