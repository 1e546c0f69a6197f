"""Claude Code before a model of our own, with tools whose effects are counted in a file."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from claude_agent_sdk import AgentDefinition, ClaudeAgentOptions, create_sdk_mcp_server, tool

from agui_bridge_claude import ClaudeAgentAdapter
from tests.support.effects import lines_of

__all__ = ["MAIL", "Coder", "text"]

MAIL = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "body": {"type": "string"}},
    "required": ["to", "body"],
    "additionalProperties": False,
}
_NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


class Coder:
    """An agent on one machine: a working folder and a home of its own.

    Args:
        model: where the model is.
        folder: for all of this.
        effects: the file that each execution appends a line to, as JSON; of several machines one.
    """

    def __init__(self, model: str, folder: Path, effects: Path | None = None) -> None:
        self.effects = effects or folder / "effects"
        self.begun = asyncio.Event()
        self.finish = asyncio.Event()
        self._model = model
        self.work = folder / "work"
        self._home = folder / "home"
        for made in (self.work, self._home):
            made.mkdir(parents=True, exist_ok=True)

    @property
    def executed(self) -> list[Any]:
        """What was carried out."""
        return [json.loads(line) for line in lines_of(self.effects)]

    @property
    def environment(self) -> dict[str, str]:
        """What has Claude Code ask the model, and nobody else anything."""
        return {
            "ANTHROPIC_BASE_URL": self._model,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CONFIG_DIR": str(self._home),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "ENABLE_TOOL_SEARCH": "false",
            "IS_SANDBOX": "1",
        }

    def options(self, **members: Any) -> ClaudeAgentOptions:
        """The agent."""
        given: dict[str, Any] = {
            "cwd": self.work,
            "env": self.environment,
            "setting_sources": [],
            "model": "claude-haiku-4-5",
            "tools": ["Bash", "Write", "AskUserQuestion", "Agent"],
            "mcp_servers": {"mail": create_sdk_mcp_server("mail", tools=self.tools())},
            "allowed_tools": ["mcp__mail__look_up", "mcp__mail__look_up_slowly", "mcp__mail__wait"],
            "agents": {"helper": AgentDefinition(description="Helps.", prompt="You help.")},
        }
        return ClaudeAgentOptions(**{**given, **members})

    def adapter(self, **options: Any) -> ClaudeAgentAdapter:
        """The agent behind the adapter."""
        return ClaudeAgentAdapter(self.options(), **options)

    def effect(self, what: Any) -> None:
        with self.effects.open("a") as file:
            file.write(json.dumps(what) + "\n")

    def tools(self) -> list[Any]:
        @tool("send_email", "Send an e-mail.", MAIL)
        async def send_email(args: dict[str, Any]) -> dict[str, Any]:
            self.effect(args)
            return text(f"sent to {args['to']}")

        @tool("look_up", "Look somebody up.", _NAME)
        async def look_up(args: dict[str, Any]) -> dict[str, Any]:
            self.effect(f"looked up {args['name']}")
            return text(f"{args['name']} is known")

        @tool("look_up_slowly", "Look somebody up, for a moment.", _NAME)
        async def look_up_slowly(args: dict[str, Any]) -> dict[str, Any]:
            await asyncio.sleep(0.25)
            self.effect(f"looked up {args['name']}")
            return text(f"{args['name']} is known")

        @tool("wait", "Work until somebody says that it is enough.", {})
        async def wait(args: dict[str, Any]) -> dict[str, Any]:
            self.begun.set()
            await self.finish.wait()
            self.effect("waited")
            return text("it is done")

        return [send_email, look_up, look_up_slowly, wait]
