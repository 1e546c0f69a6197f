"""What of a model's call is shown while it streams, as its author says in the call's metadata."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ag_ui.core import BaseEvent, CustomEvent

from agui_bridge_langgraph.calls.callbacks import STRUCTURED
from agui_bridge_langgraph.content import plain

_TEXT: Final = ("emit-messages", "copilotkit:emit-messages")
_CALLS: Final = ("emit-tool-calls", "copilotkit:emit-tool-calls")
_PREDICTS: Final = ("predict_state", "copilotkit:emit-intermediate-state")
# Up to langchain 1.3 only summaries say what they are.
_INTERNAL: Final = ("summarization", "tool_selection", "tool_emulation")
_TAG: Final = "langsmith:nostream"


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of one call.

    Attributes:
        text: whether its text and its reasoning are.
        calls: whether its tool calls are, or the names of the tools whose calls are.
        predictions: keys of the state that arguments predict, as the author wrote them.
    """

    text: bool = True
    calls: bool | Collection[str] = True
    predictions: tuple[Mapping[str, Any], ...] = ()

    def has_call(self, tool: str) -> bool:
        """Whether calls of a tool are shown."""
        return self.calls if isinstance(self.calls, bool) else tool in self.calls

    def predicted(self, tool: str) -> BaseEvent | None:
        """What announces that a call of a tool predicts state; None if it does not."""
        if not any(one.get("tool") == tool for one in self.predictions):
            return None
        return CustomEvent(name="PredictState", value=plain(self.predictions))


ALL: Final = Shown()
_NOTHING: Final = Shown(text=False, calls=False)


def shown(about: Mapping[str, Any]) -> Shown:
    """What is shown of a call.

    Args:
        about: its metadata.
    """
    internal = "lc_internal_call" in about or about.get("lc_source") in _INTERNAL
    if internal or STRUCTURED in about or _TAG in (about.get("tags") or ()):
        return _NOTHING
    predictions = next((about[key] for key in _PREDICTS if about.get(key)), ())
    several = predictions if isinstance(predictions, list | tuple) else (predictions,)
    told = Shown(
        not any(about.get(key) is False for key in _TEXT),
        next((_calls(about[key]) for key in _CALLS if key in about), True),
        tuple(one for one in several if isinstance(one, Mapping)),
    )
    return ALL if told == ALL else told


def _calls(told: Any) -> bool | Collection[str]:
    if isinstance(told, str):
        return (told,)
    return tuple(map(str, told)) if isinstance(told, list | tuple | set) else told is not False
