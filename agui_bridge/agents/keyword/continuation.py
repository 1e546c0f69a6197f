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
    """

    language: Language
    fields: tuple[FormField, ...]

    def pack(self) -> Json:
        """The continuation."""
        fields = [field.to_json() for field in self.fields]
        return {_MARK: _VERSION, "requested": {"language": self.language, "fields": fields}}


@dataclass(frozen=True, slots=True)
class Inner:
    """A pause, or a handoff, of the agent inside.

    Attributes:
        continuation: exactly what it gave.
        calls: the tool calls that it asks about, by native id.
    """

    continuation: Json
    calls: Mapping[str, str]

    def pack(self) -> Json:
        """The continuation."""
        return {_MARK: _VERSION, "inner": self.continuation, "calls": dict(self.calls)}


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
        return Inner(continuation["inner"], continuation["calls"])
    requested = continuation["requested"]
    fields: Sequence[Mapping[str, Json]] = requested["fields"]
    return Requested(requested["language"], tuple(FormField.from_json(field) for field in fields))
