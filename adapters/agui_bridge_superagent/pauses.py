"""What the server asks, as a pause of the bridge; and the answers, as it takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agui_bridge.adapters import Ask, Pause
from agui_bridge.errors import UpstreamError
from agui_bridge.protocol.answers.decisions import Answer, Decision
from agui_bridge.protocol.answers.forms import FormField, schema_from_fields
from agui_bridge.protocol.threads.records import Json

__all__ = ["Question", "answer_of", "malformed", "refusal_of"]

_ASK: Final = "interrupt"


@dataclass(frozen=True)
class Question:
    """What the server asks.

    Attributes:
        reason: for people.
        fields: the form.
    """

    reason: str
    fields: tuple[FormField, ...]

    @classmethod
    def of(cls, data: Any) -> Question:
        """Read the data of an interrupt.

        Raises:
            UpstreamError: it is none.
        """
        if not isinstance(data, Mapping) or not isinstance(data.get("reason"), str):
            raise malformed("an interrupt without a reason")
        fields = data.get("fields") or ()
        if not isinstance(fields, Sequence) or isinstance(fields, str):
            raise malformed("an interrupt whose fields are no list")
        try:
            return cls(data["reason"], tuple(FormField.from_json(each) for each in fields))
        except (ValueError, TypeError, AttributeError):
            raise malformed("an interrupt with a field that is none") from None

    def pause(self) -> Pause:
        """The pause of a run that ends with it; the continuation keeps the form."""
        ask = Ask(
            native_id=_ASK,
            reason="confirmation",
            message=self.reason,
            response_schema=schema_from_fields(self.fields),
        )
        return Pause([ask], {"fields": [field.to_json() for field in self.fields]})


def answer_of(continuation: Json, decisions: Mapping[str, Decision]) -> Mapping[str, Json] | None:
    """The form filled in as was decided; None when the form has no word for it."""
    decision = decisions[_ASK]
    if isinstance(decision, Answer) and isinstance(decision.payload, Mapping):
        return decision.payload
    # Cancelled: whoever asks is told no.
    return refusal_of(continuation)


def refusal_of(continuation: Json) -> Mapping[str, Json] | None:
    """The form filled in with a no; None when it has no confirm field, or asks for more."""
    fields = [FormField.from_json(field) for field in continuation["fields"]]
    required = [field for field in fields if field.required and field.type != "confirm"]
    values = {field.name: False for field in fields if field.type == "confirm"}
    return values if values and not required else None


def malformed(what: str) -> UpstreamError:
    """The error of a server that sent what its protocol does not have."""
    return UpstreamError(f"The remote agent's server sent {what}.")
