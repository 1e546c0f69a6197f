"""Mastra's working memory as the shared state of a thread.

A memory with a schema is the state itself. One with a template is text, and the state an object
with that text as `workingMemory`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from agui_bridge.protocol.threads.records import Json
from agui_bridge_mastra.http_client import HttpClient, as_mapping

Sharing = Literal["off", "tell", "share"]
"""Whether clients are told of the working memory, and whether they may change it."""

_TEXT: Final = "workingMemory"


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """The working memory of one conversation.

    Attributes:
        server: where it is.
        agent: id of the agent.
        memory: the thread and the resource.
        trace: headers of the trace.
    """

    server: HttpClient
    agent: str
    memory: Mapping[str, str]
    trace: Mapping[str, str]

    async def state(self) -> Json:
        """It as shared state; None while there is nothing in it.

        Raises:
            NotDelivered, UpstreamError: the server did not say.
        """
        return _state(await self._kept())

    async def take(self, state: Json) -> None:
        """Replace it with a client's state, unless that is empty or the same.

        Raises:
            NotDelivered, UpstreamError: the server did not take it.
        """
        kept = await self._kept()
        if not state or state == _state(kept):
            return
        text = state.get(_TEXT) if isinstance(state, Mapping) and not _has_schema(kept) else None
        if not isinstance(text, str):
            text = json.dumps(state, ensure_ascii=False)
        await self.server.set_working_memory(
            self.agent, self.memory, text, new=not kept.get("threadExists"), trace=self.trace
        )

    async def _kept(self) -> Mapping[str, Any]:
        return await self.server.working_memory(self.agent, self.memory, trace=self.trace)


def _has_schema(kept: Mapping[str, Any]) -> bool:
    return as_mapping(kept.get("workingMemoryTemplate")).get("format") == "json"


def _state(kept: Mapping[str, Any]) -> Json:
    text = kept.get(_TEXT)
    if not text:
        return None
    if _has_schema(kept):
        try:
            return json.loads(text) if isinstance(text, str) else text
        except ValueError:
            # The agent wrote it: what it means by it is for people to read.
            return {_TEXT: text}
    return {_TEXT: text}
