"""The tools that the model is offered, and which of them need an approval."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field

__all__ = ["CALLS", "TOOLS", "Tool"]

CALLS: list[tuple[str, dict[str, Any]]] = []
"""Every execution; in its place there would be a calendar, a mail server and the like."""


@dataclass(frozen=True)
class Tool:
    """A tool.

    Attributes:
        fn: what carries it out, with the arguments by name; its docstring is for the model.
        parameters: what the model's arguments, and those that people edit, must satisfy.
        risky: whether somebody must approve each call.
    """

    fn: Callable[..., Awaitable[Any]]
    parameters: type[BaseModel]
    risky: bool = False

    @property
    def name(self) -> str:
        """Its name, for the model and for people."""
        return self.fn.__name__

    def describe(self) -> dict[str, Any]:
        """Describe it as chat completions want it."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.fn.__doc__ or "",
                "parameters": self.parameters.model_json_schema(),
            },
        }


class Day(BaseModel):
    day: Literal["monday", "tuesday", "wednesday", "thursday", "friday"]


async def free_hours(day: str) -> list[str]:
    """Look up the free hours of a day."""
    CALLS.append(("free_hours", {"day": day}))
    return ["09:00", "14:00"] if day != "friday" else []


class Email(BaseModel):
    to: str = Field(min_length=3)
    subject: str
    body: str


async def send_email(to: str, subject: str, body: str) -> str:
    """Send an e-mail."""
    CALLS.append(("send_email", {"to": to, "subject": subject, "body": body}))
    return f"sent to {to}"


TOOLS = {tool.name: tool for tool in (Tool(free_hours, Day), Tool(send_email, Email, risky=True))}
