"""What a keyword agent's pauses keep: its own request, or what the agent inside wants back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agui_bridge.errors import ReplayMismatch
from agui_bridge.protocol.answers.forms import FormField
from agui_bridge.protocol.answers.language import Language
from agui_bridge.protocol.threads.records import Json

__all__ = ["Inner", "Requested", "open_envelope"]

_MARK = "agui_bridge_keyword"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Requested:
    """A pause of the keyword agent's own.

    Attributes:
        language: of the request.
        fields: the form as it was asked: by the time of the answer it may be configured otherwise.
        held_after: the agent's story (`Listener.story`) when something was held back, if it was.
    """

    language: Language
    fields: tuple[FormField, ...]
    held_after: str | None = None

    def pack(self) -> Json:
        """The continuation."""
        fields = [field.to_json() for field in self.fields]
        requested = {"language": self.language, "fields": fields, "held_after": self.held_after}
        return {_MARK: _VERSION, "requested": requested}


@dataclass(frozen=True, slots=True)
class Inner:
    """A pause, or a handoff, of the agent inside.

    Attributes:
        continuation: exactly what it gave.
        calls: the tool calls that it asks about, by native id.
        agreed: the story after which a person has agreed that the agent goes on, if it is not used.
    """

    continuation: Json
    calls: Mapping[str, str]
    agreed: str | None = None

    def pack(self) -> Json:
        """The continuation."""
        kept = {"inner": self.continuation, "calls": dict(self.calls), "agreed": self.agreed}
        return {_MARK: _VERSION, **kept}


def open_envelope(continuation: Json) -> Requested | Inner:
    """Read a continuation.

    One without a mark is the agent's own: from before it became a keyword agent.

    Raises:
        ReplayMismatch: another version wrote it.
    """
    if not isinstance(continuation, Mapping) or _MARK not in continuation:
        return Inner(continuation, {})
    if continuation[_MARK] != _VERSION:
        raise ReplayMismatch("The continuation is of another version of the keyword agent.")
    if "inner" in continuation:
        return Inner(continuation["inner"], continuation["calls"], continuation.get("agreed"))
    requested = continuation["requested"]
    fields: Sequence[Mapping[str, Json]] = requested["fields"]
    form = tuple(FormField.from_json(field) for field in fields)
    return Requested(requested["language"], form, requested.get("held_after"))
