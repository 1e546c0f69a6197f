"""Calls as the model makes them: each has an id that is unique in its thread.

Some clients name a call by its tool, so that the second one has the id of the first: to people it
would be the same call, and an approval of one would be taken for one of the other.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from agent_framework import ChatResponseUpdate, Content, Message

from agui_bridge.adapters import Run
from agui_bridge_agent_framework.content import arguments_text


class UniqueCalls:
    """The calls of one thread.

    Args:
        run: its run, which mints ids.
        named: what `named` was when the run paused that this one continues.

    Attributes:
        named: the ids that models gave to calls whose ids are others here, by these.
        proposed: the arguments that the model gave, or people in their place, as text, by the ids
            of this run's calls.
        tools: names of the tools that the model had then, by these ids.
    """

    def __init__(self, run: Run, named: Mapping[str, str] | None = None) -> None:
        self.named: dict[str, str] = dict(named or {})
        self.proposed: dict[str, str] = {}
        self.tools: dict[str, Collection[str]] = {}
        self._ids = run.call_ids()

    def renamer(self, tools: Collection[str]) -> Callable[[ChatResponseUpdate], ChatResponseUpdate]:
        """What gives the calls of one reply of a model ids of their own, in each of its updates.

        Args:
            tools: names of those that the model has.
        """
        own: dict[str, str] = {}
        pieces: dict[str, str] = {}

        def rename(update: ChatResponseUpdate) -> ChatResponseUpdate:
            for content in _calls(update.contents):
                # Clients that tell calls apart themselves give each an id besides the provider's.
                given = content.id or content.call_id
                piece = arguments_text(content.arguments or "")
                is_repeated = content.merge_mode == "replace"
                is_another = (
                    not (is_repeated or content.id)
                    and content.name
                    and piece.strip()
                    and _is_object(pieces.get(given, ""))
                )
                if given not in own or is_another:
                    own[given] = self._ids.new(content.call_id)
                    self.tools[own[given]] = tools
                    if content.call_id and content.call_id != own[given]:
                        self.named[own[given]] = content.call_id
                    pieces[given] = ""
                pieces[given] = piece if is_repeated else pieces[given] + piece
                content.call_id = own[given]
                self.proposed[own[given]] = pieces[given]
            return update

        return rename

    def as_named(self, messages: Iterable[Message]) -> list[Message]:
        """Messages for a service that keeps the conversation: results by its own ids of calls."""
        return [self._as_named(message) for message in messages]

    def _as_named(self, message: Message) -> Message:
        given = [self.named.get(str(content.call_id)) for content in message.contents]
        if not any(given):
            return message
        made = copy.copy(message)
        made.contents = [
            content if own is None else _renamed(content, own)
            for content, own in zip(message.contents, given, strict=True)
        ]
        return made


def _renamed(content: Content, own: str) -> Content:
    made = copy.copy(content)
    made.call_id = own
    return made


def _calls(contents: Iterable[Any]) -> Iterable[Any]:
    """The calls that are executed here; a provider knows its own by their ids."""
    return (
        content
        for content in contents
        if content.type == "function_call"
        and (content.id or content.call_id)
        and not (content.informational_only or content.hosted)
    )


def _is_object(text: str) -> bool:
    """Whether it is a whole JSON object; most of the time arguments are looked at, it is not."""
    try:
        return text.rstrip().endswith("}") and isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
