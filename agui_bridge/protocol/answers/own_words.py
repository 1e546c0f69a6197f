"""What an agent says of a call: in its own words, with the call itself, or without it."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from typing import Final

from agui_bridge.protocol.threads.records import Json

__all__ = ["own_words", "with_call", "without_arguments"]

_BY_DEFAULT: Final = frozenset({"", "Tool execution requires approval"})
"""What LangChain's HumanInTheLoopMiddleware begins with where its user said nothing."""

_OPENS: Final = re.compile(r"[{\[]\s*(?:(?P<text>['\"{])|[\d\[-])")
_MOST_TRIES: Final = 1_000
_DECODER: Final = json.JSONDecoder()


def own_words(description: str | None, name: str, args: Mapping[str, Json]) -> str | None:
    """A description without the call that it repeats, which is shown beside it.

    LangChain's middleware adds the tool's name, and its arguments as Python writes them; Pydantic
    AI's endpoint says `Approve pay({"to": "bob"})?`.

    Args:
        description: as the framework has it.
        name: the tool's name.
        args: its arguments.
    """
    if description is None:
        return None
    said = description.removesuffix(f"\n\nTool: {name}\nArgs: {dict(args)}")
    begin, end = f"Approve {name}(", ")?"
    if said.startswith(begin) and said.endswith(end):
        with contextlib.suppress(ValueError, RecursionError):
            if json.loads(said[len(begin) : -len(end)]) == dict(args):
                return None
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
    # Channels that tell no arguments know an object or a list for such.
    args = args if isinstance(args, Mapping | list) else [args]
    shown = f"{name} {json.dumps(args, ensure_ascii=False)}"
    return message if message and shown in message else f"{message or ''}\n{shown}".strip()


def without_arguments(text: str) -> str:
    """A text in which `…` stands for whatever may be arguments: objects and lists, as JSON.

    Of what begins like one and is no JSON (Python's own way of writing it, or cut off) nobody knows
    where it ends: so nothing behind it is left.

    Args:
        text: what an agent or its framework says of a question.
    """
    kept, at, tried = [], 0, 0
    look = at
    while (found := _OPENS.search(text, look)) is not None:
        tried += 1
        try:
            _, end = _DECODER.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            if found["text"] is None and tried < _MOST_TRIES:
                look = found.start() + 1
                continue
            end = len(text)
        kept.append(f"{text[at : found.start()]}…")
        at = look = end
    return "".join(kept) + text[at:]
