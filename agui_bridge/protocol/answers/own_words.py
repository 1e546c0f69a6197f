"""What an agent says of a call, without what its framework writes there by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agui_bridge.protocol.threads.records import Json

__all__ = ["own_words"]

_BY_DEFAULT: Final = frozenset({"", "Tool execution requires approval"})
"""What LangChain's HumanInTheLoopMiddleware begins with where its user said nothing."""


def own_words(description: str | None, name: str, args: Mapping[str, Json]) -> str | None:
    """A description without the call that it repeats, which is shown beside it.

    LangChain's middleware adds the tool's name, and its arguments as Python writes them: they would
    be told where nobody wants arguments told.

    Args:
        description: as the framework has it.
        name: the tool's name.
        args: its arguments.
    """
    if description is None:
        return None
    said = description.removesuffix(f"\n\nTool: {name}\nArgs: {dict(args)}")
    return None if said in _BY_DEFAULT else said
