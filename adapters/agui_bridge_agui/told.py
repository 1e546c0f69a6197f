"""What the client was told: the conversation so far, and the messages and calls of this run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agui_bridge.protocol.json_values import same_json
from agui_bridge.protocol.threads.records import Json

__all__ = ["Told"]


class Told:
    """Messages and calls that the client knows: those of the conversation, and of this run.

    Args:
        messages: the conversation before the run.

    Attributes:
        messages: ids of messages.
        calls: name and arguments of every call, by id.
        answered: calls that have a result.
        subagents: run ids of the sub-agents of this run.
    """

    def __init__(self, messages: Sequence[Mapping[str, Json]]) -> None:
        self.messages: set[Json] = {message["id"] for message in messages}
        self.calls: dict[str, tuple[str, str]] = {}
        self.answered: set[str] = set()
        self.subagents: set[str] = set()
        self._own: list[str] = []
        self._ended: set[str] = set()
        self._again: dict[str, tuple[str, str]] = {}
        self._texts: dict[str, list[str]] = {}
        self._parents: dict[str, str] = {}
        for message in messages:
            for call in message.get("toolCalls") or ():
                shape = call["function"]
                self.calls[call["id"]] = (shape["name"], shape["arguments"])
            if message["role"] == "tool":
                self.answered.add(message["toolCallId"])

    @property
    def unanswered(self) -> list[str]:
        """Calls of this run that have no result."""
        return [call for call in self._own if call not in self.answered]

    def name_of(self, call: str) -> str:
        """The tool that a call calls."""
        return self.calls[call][0]

    def contradicts(self, call: str) -> bool:
        """Whether the call's id was used again, for another tool or with other arguments.

        What people are shown is the first of the two; the upstream would carry out the second.
        """
        if call not in self._again:
            return False
        (name, arguments), (other, others) = self.calls[call], self._again[call]
        return name != other or not same_json(_parsed(arguments), _parsed(others))

    def text_over(self, call: str) -> str:
        """The text of the message of this run that a call stands in, "" if there is none."""
        return "".join(self._texts.get(self._parents.get(call, ""), ()))

    def said(self, text: str) -> bool:
        """Whether a message of this run says exactly this."""
        return any("".join(parts) == text for parts in self._texts.values())

    def note(self, event: Any) -> None:
        """Take in an event object of `ag_ui` that the client is told."""
        # A model looks long for an attribute that it does not have.
        fields = event.__dict__
        for name in ("message_id", "parent_message_id"):
            if named := fields.get(name):
                self.messages.add(named)
        match fields["type"].value:
            case "TEXT_MESSAGE_CONTENT":
                self._texts.setdefault(event.message_id, []).append(event.delta)
            case "TOOL_CALL_START":
                self._parents[event.tool_call_id] = event.parent_message_id or ""
                self._begin(event.tool_call_id, event.tool_call_name)
            case "TOOL_CALL_ARGS":
                self._extend(event.tool_call_id, event.delta)
            case "TOOL_CALL_END":
                self._ended.add(event.tool_call_id)
            case "TOOL_CALL_RESULT":
                self.answered.add(event.tool_call_id)
            case "SUBAGENT_STARTED":
                self.subagents.add(event.subagent_run_id)

    def tell_again(self, call: str, name: str, arguments: str = "") -> None:
        """Take in that a call that is known is told once more."""
        self._again[call] = (name, arguments)

    def _begin(self, call: str, name: str) -> None:
        if call not in self.calls:
            self._own.append(call)
            self.calls[call] = (name, "")
        elif call not in self._own or call in self._ended or call in self.answered:
            self.tell_again(call, name)

    def _extend(self, call: str, delta: str) -> None:
        if call in self._again:
            name, arguments = self._again[call]
            self._again[call] = (name, arguments + delta)
        elif call in self._own:
            name, arguments = self.calls[call]
            self.calls[call] = (name, arguments + delta)


def _parsed(arguments: str) -> Json:
    try:
        found: Json = json.loads(arguments or "{}")
    except ValueError:
        return arguments
    return found
