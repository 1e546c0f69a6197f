"""What Mastra waits for, as the bridge asks it and as the continuation keeps it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from agui_bridge.adapters import Ask
from agui_bridge.protocol.threads.records import Json, ToolCall

_WORDS: Final = ("message", "question", "prompt", "text", "title", "reason", "ask")
"""Members of a suspend payload that hold what people are asked."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A tool call, or a workflow's step, that Mastra has suspended.

    Attributes:
        key: its name, unique within the run: the (outer) tool call id, which the call that
            continues it names; a workflow's step, with the index of its item. In a network, where
            only the run is named, the primitive's.
        approval: whether it waits for an approval, else for data.
        call: id of the tool call on the wire, "" when there is none.
        name: the tool that waits: the inner one, when a sub-agent called it.
        args: its arguments.
        schema: JSON Schema of the answer, None when the server told none.
        payload: what the tool gave to `suspend()`.
        subagent: run id of the sub-agent whose tool it is.
        step: of a workflow, the steps that lead to it, outermost first.
        index: which item of a `foreach` it is.
        items: inputs of the items of a `foreach` that the one answer reaches, where Mastra has
            no way to answer each alone.
    """

    key: str
    approval: bool
    call: str
    name: str
    args: Mapping[str, Json]
    schema: Mapping[str, Json] | None = None
    payload: Json = None
    subagent: str | None = None
    step: list[str] = field(default_factory=list)
    index: int | None = None
    items: list[Json] = field(default_factory=list)

    def to_json(self) -> dict[str, Json]:
        """As the continuation keeps it."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Waiting:
        """Read what `to_json` wrote."""
        return cls(**kept)

    def ask(self) -> Ask:
        """The question."""
        if self.approval:
            return Ask(
                native_id=self.key,
                reason="tool_call",
                message=f"May {self.name} run?",
                tool_call=ToolCall(self.call, self.name, self.args),
                response_schema=self.schema if _asks_approval(self.schema) else None,
                subagent_run_id=self.subagent,
            )
        shown: dict[str, Json] = {"toolName": self.name, "args": dict(self.args)}
        if self.call:
            shown["toolCallId"] = self.call
        if self.index is not None:
            shown["item"] = self.index
        if self.payload is not None:
            shown["suspendPayload"] = self.payload
        message = _question(self.payload) or f"{self.name} needs an answer."
        if len(self.items) > 1:
            shown["items"] = list(self.items)
            message += f"\nThe answer is for all {len(self.items)} items that wait."
        return Ask(
            native_id=self.key,
            reason="input_required",
            message=message,
            about=ToolCall(self.call, self.name, self.args) if self.call else None,
            response_schema=self.schema,
            subagent_run_id=self.subagent,
            metadata={"mastra": shown},
        )


def parse_schema(text: Json) -> Mapping[str, Json] | None:
    """A `resumeSchema`, which Mastra sends as a JSON string."""
    if isinstance(text, str):
        try:
            text = json.loads(text)
        except ValueError:
            return None
    return text if isinstance(text, dict) else None


def _asks_approval(schema: Mapping[str, Json] | None) -> bool:
    """Whether it is the schema of an approval; older servers' have no place for a reason."""
    properties = (schema or {}).get("properties")
    return isinstance(properties, Mapping) and properties.keys() >= {"approved", "reason"}


def _question(payload: Json) -> str | None:
    if isinstance(payload, str):
        return payload
    if isinstance(payload, list):
        # One answer for several: who gives it must know all of them.
        return "\n".join(said for said in map(_question, payload) if said) or None
    if isinstance(payload, Mapping):
        for word in _WORDS:
            if isinstance(payload.get(word), str) and payload[word]:
                return str(payload[word])
    return None
