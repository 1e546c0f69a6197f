"""A model with tools: it looks hours up by itself, and each e-mail is approved by a person."""

from __future__ import annotations

import os

from agui_bridge import Bridge
from agui_bridge.agents.chat import AskUser, ChatAgent
from examples.guide import Answer, Say, serve_with_guide
from examples.llm_tools.tools import free_hours, send_email

bridge = Bridge("memory:")
bridge.add(
    "secretary",
    ChatAgent(
        os.environ.get("MODEL") or "gpt-4o-mini",
        instructions="You are a secretary. Use the tools; be brief.",
        tools=[free_hours, send_email, AskUser()],
        max_rounds=8,
    ),
    description="Finds free hours and writes e-mails; each e-mail is approved by you.",
)


def main() -> None:
    """Serve the agent, and print what to try."""
    if not os.environ.get("MODEL"):
        raise SystemExit("Set MODEL, and OPENAI_BASE_URL and OPENAI_API_KEY; see the README.")
    serve_with_guide(
        bridge,
        "secretary",
        Say(
            "The model looks hours up, and wants to send an e-mail: the run pauses.",
            "Write to ann@example.com which hours I have on Monday.",
        ),
        Answer("Approve the e-mail.", {"approved": True}),
    )


if __name__ == "__main__":
    main()
