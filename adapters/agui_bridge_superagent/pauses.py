"""What the server asks, as a pause of the bridge; and the answers, as it takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agui_bridge.adapters import Ask, Pause
from agui_bridge.errors import UpstreamError
from agui_bridge.protocol.answers.decisions import Answer, Decision
from agui_bridge.protocol.answers.forms import FormField, schema_from_fields
from agui_bridge.protocol.threads.records import Json

_ASK: Final = "interrupt"
_OF_A_STATE: Final = frozenset({"session_id", "agent_name", "checkpoint_id"})


@dataclass(frozen=True)
class Question:
    """What the server asks.

    Attributes:
        reason: for people.
        fields: the form, by the names that the server's answers have.
    """

    reason: str
    fields: tuple[FormField, ...]

    @classmethod
    def of(cls, data: Any) -> Question:
        """Read the data of an interrupt.

        In A2UI mode the original server gives its whole state, as JSON, for the reason, beside a
        form of one text field that it does not go by when it is answered: the state's own counts.

        Raises:
            UpstreamError: it is none.
        """
        if not isinstance(data, Mapping) or not isinstance(data.get("reason"), str):
            raise malformed("an interrupt without a reason")
        data = _state_in(data["reason"]) or data
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
        # The original takes an empty form for a yes: what was not confirmed is told as a no.
        return {**dict.fromkeys(_confirmed_by(continuation), False), **decision.payload}
    # Cancelled: whoever asks is told no.
    return refusal_of(continuation)


def refusal_of(continuation: Json) -> Mapping[str, Json] | None:
    """The form filled in with a no; None when it has no confirm field, or asks for more."""
    required = [field for field in _form(continuation) if field.required]
    asks_more = any(field.type != "confirm" for field in required)
    values: dict[str, Json] = dict.fromkeys(_confirmed_by(continuation), False)
    return values if values and not asks_more else None


def _form(continuation: Json) -> list[FormField]:
    return [FormField.from_json(field) for field in continuation["fields"]]


def _confirmed_by(continuation: Json) -> list[str]:
    return [field.name for field in _form(continuation) if field.type == "confirm"]


def _state_in(reason: str) -> Mapping[str, Any] | None:
    """The InterruptState that a reason is; None for a sentence, also for one that looks like JSON.

    Raises:
        UpstreamError: it is a state without a reason of its own.
    """
    if not reason.startswith("{"):
        return None
    try:
        state = json.loads(reason)
    except (ValueError, RecursionError):
        return None
    if not isinstance(state, Mapping) or not state.keys() >= _OF_A_STATE:
        return None
    if not isinstance(state.get("reason"), str):
        raise malformed("a state without a reason")
    return state


def malformed(what: str) -> UpstreamError:
    """The error of a server that sent what its protocol does not have."""
    return UpstreamError(f"The remote agent's server sent {what}.")
