"""Claude Code behind the bridge: a person approves the command that it wants to run.

    python -m examples.claude_agent.agent

By default a model without a network does what examples/claude_agent/model.py says. With a key in
ANTHROPIC_API_KEY it is Anthropic's.
"""

from __future__ import annotations

import os
from pathlib import Path

from claude_agent_sdk import ClaudeAgentOptions

from agui_bridge import Bridge
from examples.claude_agent.model import serve_model
from examples.guide import Answer, Say, serve_with_guide

FOLDER = Path(os.environ.get("CODER_FOLDER", "claude")).resolve()
"""Where it works; its home is beside it."""


def environment() -> dict[str, str]:
    """What has Claude Code ask the model without a network, and nobody else anything."""
    if "ANTHROPIC_API_KEY" in os.environ:
        return {}
    return {
        "ANTHROPIC_BASE_URL": serve_model(),
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CONFIG_DIR": str(FOLDER.with_name(FOLDER.name + "-home")),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


options = ClaudeAgentOptions(
    cwd=FOLDER,
    env=environment(),
    system_prompt="You keep notes.txt.",
    tools=["Bash", "Read"],
    setting_sources=[],
)

bridge = Bridge("memory:")
bridge.add("coder", options, description="Notes what you tell it in notes.txt.")


def main() -> None:
    """Serve the coder, and print what to try."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    serve_with_guide(
        bridge,
        "coder",
        Say("It wants to run a command, and asks.", "Buy a hat."),
        Answer("Approve it: the command runs, once.", {"approved": True}),
    )


if __name__ == "__main__":
    main()
