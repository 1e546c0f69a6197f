"""What a scripted model says, in whichever dialect it is asked."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

__all__ = [
    "SIGNED",
    "Answered",
    "Dialect",
    "Json",
    "Reply",
    "Requested",
    "ToolUse",
    "pieces_of",
    "signature_of",
]

Json = dict[str, Any]

SIGNED: Final = "c2lnbmVk"
"""What every signature begins with."""


@dataclass(frozen=True)
class ToolUse:
    """A tool call that the model asks for.

    Attributes:
        name: the tool.
        args: its arguments, or their text as it is (which may be no JSON).
        id: the call's id; None leaves it out, as some servers do.
    """

    name: str
    args: Mapping[str, Any] | str
    id: str | None = "call_1"

    @property
    def text(self) -> str:
        """The arguments as they travel."""
        return self.args if isinstance(self.args, str) else json.dumps(self.args)


@dataclass(frozen=True)
class Reply:
    """What one request gets.

    Attributes:
        text: the text; a sequence is sent piece by piece.
        calls: the tool calls.
        fragment: characters of arguments in one delta; 0 sends each call whole.
        thoughts: what the model thought before, part by part, where the dialect has a place for it.
        hold: when given, the stream waits for it after its first piece.
        breaks_off: the connection ends before the stream does.
        status: another one than 200 is answered with `body`.
        body: the body of a failure.
    """

    text: str | Sequence[str] = ()
    calls: Sequence[ToolUse] = ()
    fragment: int = 0
    thoughts: Sequence[str] = ()
    hold: asyncio.Event | None = None
    breaks_off: bool = False
    status: int = 200
    body: str = ""

    @property
    def pieces(self) -> list[str]:
        """The text, as it is sent."""
        return [self.text] if isinstance(self.text, str) else list(self.text)


@dataclass(frozen=True)
class Requested:
    """A request that the model got.

    Attributes:
        number: how many came before it.
        body: its JSON body.
        headers: its headers.
    """

    number: int
    body: Json
    headers: Mapping[str, str]

    @property
    def messages(self) -> list[Json]:
        """The conversation as the model got it, where the dialect says `messages`."""
        return list(self.body["messages"])


Answered = tuple[Requested, Reply]
"""A request, and what it got."""


class Dialect(Protocol):
    """One provider's way to ask a model, and to answer."""

    @property
    def path(self) -> str:
        """Where it is asked."""
        ...

    def fault(self, requested: Requested, before: Sequence[Answered]) -> str | None:
        """Why the provider refuses a request, by what it knows of those before; else None."""
        ...

    def refusal(self, fault: str) -> Json:
        """The body of its answer, with status 400."""
        ...

    def wants_stream(self, requested: Requested) -> bool:
        """Whether the answer is to be streamed."""
        ...

    def whole(self, requested: Requested, reply: Reply) -> Json:
        """The body of an answer that is not streamed."""
        ...

    def said(self, requested: Requested, reply: Reply) -> Iterator[str | None]:
        """The frames of what is said; None stands where the stream waits for `hold`."""
        ...

    def ended(self, requested: Requested, reply: Reply) -> Iterator[str]:
        """The frames that end the stream."""
        ...


def pieces_of(text: str, size: int) -> list[str]:
    """A text in pieces of a size; whole where that is 0."""
    return [text[at : at + size] for at in range(0, len(text), size)] if size else [text]


def signature_of(said: str) -> str:
    """The signature of what a model said, in base64, by which its provider knows it again."""
    return base64.b64encode(f"signed {said}".encode()).decode()
