"""Agents of the Agent Client Protocol behind agui-bridge: Claude Code, Codex, Gemini and others."""

from agui_bridge_acp.adapter import AcpAdapter

__all__ = ["AcpAdapter"]
