"""The conversation as an agent gets it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import overload

from agui_bridge.protocol.json_values import copied
from agui_bridge.protocol.threads.messages.taken_back import for_agent
from agui_bridge.protocol.threads.records import Json

__all__ = ["AgentMessages"]

Message = Mapping[str, Json]


class AgentMessages(Sequence[Message]):
    """Messages, copied once somebody looks at them, with the note of what was taken back.

    Frameworks write into what they are given, and what is stored must stay as it is: the next run
    may begin with it. Many agents look at none.

    Args:
        messages: are copied; the list itself must stay as it is until then.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages

    @cached_property
    def _copies(self) -> list[Message]:
        return [copied(for_agent(message)) for message in self._messages]

    @overload
    def __getitem__(self, at: int) -> Message: ...
    @overload
    def __getitem__(self, at: slice) -> list[Message]: ...
    def __getitem__(self, at: int | slice) -> Message | list[Message]:
        return self._copies[at]

    def __len__(self) -> int:
        return len(self._messages)
