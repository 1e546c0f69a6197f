"""What an agent says of a call: without what its framework adds, or with the call itself."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Final

from agui_bridge.protocol.threads.records import Json

__all__ = ["own_words", "with_call"]

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


def with_call(message: str | None, name: Json, args: Json) -> str:
    """A message that shows the call which its question lets run, for whoever is shown no call.

    Args:
        message: what the agent says.
        name: the tool's name.
        args: its arguments, or the JSON text of them.
    """
    if isinstance(args, str):
        with contextlib.suppress(ValueError):
            args = json.loads(args)
    shown = f"{name} {json.dumps(args, ensure_ascii=False)}"
    return message if message and shown in message else f"{message or ''}\n{shown}".strip()
