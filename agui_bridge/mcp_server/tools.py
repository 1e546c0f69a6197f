"""The tools: one for each agent, and one that tells how a thread stands."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import mcp_types as types

from agui_bridge.engine.input.submission import Agent
from agui_bridge.errors import Refused
from agui_bridge.mcp_server.replies import OUTPUT_SCHEMA

_STATUS: Final = "thread_status"
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST: Final = 128
"""Characters of a tool's name."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools by name.

    Attributes:
        agents: the agent of each tool that sends a message.
        status: name of the tool that tells how a thread stands.
    """

    agents: Mapping[str, Agent]
    status: str

    @classmethod
    def of(cls, agents: Mapping[str, Agent]) -> Tools:
        """The tools of some agents; a name that no tool may have is changed where it can't be."""
        found: dict[str, Agent] = {}
        for name in sorted(agents):
            found[_free(_UNFIT.sub("_", name)[:_LONGEST], found)] = agents[name]
        return cls(found, _free(_STATUS, found))

    def listed(self) -> list[types.Tool]:
        """The tools as clients see them."""
        return [*map(self._of_agent, self.agents), self._of_status()]

    def _of_agent(self, name: str) -> types.Tool:
        agent = self.agents[name]
        about = agent.description or f"The agent {agent.name!r}."
        return types.Tool(
            name=name,
            title=agent.name,
            description=f"{about}\n\nSends the agent a message and gives its reply. The agent may "
            "have to ask people first: then the result says so, and nothing is carried out before "
            "they have answered.",
            input_schema={
                "type": "object",
                "properties": {
                    "message": {"type": "string", "minLength": 1, "description": "What to say."},
                    "thread": {
                        "type": "string",
                        "minLength": 1,
                        "description": "The conversation to go on with, as an earlier result named "
                        "it. Left out, a new one begins.",
                    },
                },
                "required": ["message"],
            },
            output_schema=dict(OUTPUT_SCHEMA),
        )

    def _of_status(self) -> types.Tool:
        names = sorted(agent.name for agent in self.agents.values())
        return types.Tool(
            name=self.status,
            title="How a conversation stands",
            description="Tells how a conversation with an agent stands: what it said, whether it "
            "still works, and what people have to answer. It changes nothing.",
            input_schema={
                "type": "object",
                "properties": {
                    "agent": {"type": "string", "enum": names, "description": "The agent."},
                    "thread": {
                        "type": "string",
                        "minLength": 1,
                        "description": "The conversation.",
                    },
                },
                "required": ["agent", "thread"] if len(names) != 1 else ["thread"],
            },
            output_schema=dict(OUTPUT_SCHEMA),
            annotations=types.ToolAnnotations(
                read_only_hint=True, destructive_hint=False, idempotent_hint=True
            ),
        )

    def agent_of_status(self, arguments: Mapping[str, Any]) -> Agent:
        """The agent whose thread is asked about.

        Raises:
            Refused: AGENT_NOT_FOUND; INVALID_INPUT where none is named and there are several.
        """
        known = {agent.name: agent for agent in self.agents.values()}
        name = text_of(arguments, "agent")
        if name is None:
            if len(known) != 1:
                raise Refused("INVALID_INPUT", f"agent: name one of {', '.join(sorted(known))}.")
            return next(iter(known.values()))
        if name not in known:
            raise Refused("AGENT_NOT_FOUND", f"There is no agent {name[:100]!r}.")
        return known[name]


def text_of(arguments: Mapping[str, Any], field: str) -> str | None:
    """A text of a call's arguments; None where it is left out.

    Raises:
        Refused: INVALID_INPUT, it is no text, or an empty one.
    """
    value = arguments.get(field)
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        raise Refused(
            "INVALID_INPUT",
            f"{field}: must be a text that is not empty.",
            {"field": field, "reason": "no text"},
        )
    return value


def _free(name: str, taken: Mapping[str, Agent]) -> str:
    while name in taken:
        name = f"{name[: _LONGEST - 1]}_"
    return name
