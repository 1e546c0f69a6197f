"""Agents from YAML files of `kind: Agent`, in SuperAgent's format, made into a bridge.

::

    bridge = bridge_of(["approval.yaml", "agents/"])

A file alone: `AgentFile.read("approval.yaml").adapter()` is what `Bridge.add` takes.
"""

from agui_bridge.agent_file.agent_file import (
    AgentFile,
    bridge_of,
    find_agent_files,
    is_agent_document,
)

__all__ = ["AgentFile", "bridge_of", "find_agent_files", "is_agent_document"]
