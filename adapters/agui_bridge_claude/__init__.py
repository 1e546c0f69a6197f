"""Agents of the Claude Agent SDK behind AG-UI: Claude Code, run from this process.

Needs the extra "claude".
"""

from agui_bridge_claude.adapter import ClaudeAgentAdapter

__all__ = ["ClaudeAgentAdapter"]
