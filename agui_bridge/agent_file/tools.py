"""The tools that an agent file names, made of functions."""

from __future__ import annotations

from pathlib import Path

from agui_bridge.agent_file.models import ToolPart
from agui_bridge.agents.chat import Approval, Tool
from agui_bridge.errors import ConfigurationError
from agui_bridge.import_object import import_object

__all__ = ["tool_of"]


def tool_of(part: ToolPart, folder: Path) -> Tool:
    """Import a function and make a tool of it, as the file says.

    Args:
        part: what the file says.
        folder: where modules are looked for first.

    Raises:
        ConfigurationError: there is no such function, or a model can't be told of it.
    """
    found = import_object(part.function, folder)
    if not callable(found):
        raise ConfigurationError(f"{part.function} is no function, but {found!r:.80}.")
    own = found if isinstance(found, Tool) else Tool(found)
    approval: Approval = own.approval
    if part.requireApproval is not None:
        approval = "always" if part.requireApproval else "never"
    return own.but(name=part.name, approval=approval)
