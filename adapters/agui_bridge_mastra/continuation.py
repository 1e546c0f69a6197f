"""A run at Mastra that waits, as the continuation keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agui_bridge.protocol.threads.records import Json
from agui_bridge_mastra.pauses import Waiting


@dataclass
class Paused:
    """A run at Mastra that waits for people, or for the application's tools.

    Attributes:
        agent: who runs it there.
        run: its id there.
        memory: the thread and the resource that own the conversation; empty without memory.
        waiting: what it waits for, by key.
        ids: ids on the wire by what they stand for at Mastra.
        frontend: calls that the application carries out, by their id on the wire: `toolCallId`,
            `toolName` and `args` as Mastra knows them.
        later: messages that came with an answer, and that the agent has not been told.
        abandoned: keys of what was cancelled, and that Mastra has no words for: it still waits
            there, and is not asked again.
        owed: keys of `ids` of the calls that people let run and whose results Mastra keeps.
        steps: model steps that have ended in it.
    """

    agent: str
    run: str
    memory: dict[str, str]
    waiting: dict[str, Waiting] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    frontend: dict[str, dict[str, Json]] = field(default_factory=dict)
    later: list[dict[str, Json]] = field(default_factory=list)
    abandoned: list[str] = field(default_factory=list)
    owed: list[str] = field(default_factory=list)
    steps: int = 0

    def to_json(self) -> dict[str, Json]:
        """As the continuation keeps it."""
        waiting = {key: item.to_json() for key, item in self.waiting.items()}
        return {"v": 1, **vars(self), "waiting": waiting}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Paused:
        """Read what `to_json` wrote."""
        return cls(
            kept["agent"],
            kept["run"],
            kept["memory"],
            {key: Waiting.from_json(item) for key, item in kept["waiting"].items()},
            dict(kept["ids"]),
            dict(kept["frontend"]),
            list(kept["later"]),
            list(kept.get("abandoned", [])),
            list(kept.get("owed", [])),
            kept.get("steps", 0),
        )
