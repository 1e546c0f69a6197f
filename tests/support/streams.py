"""Whether an event stream is one that every AG-UI consumer accepts.

Two judges that are not ours: the official Python types and ag-ui-validate's order rules. What
they leave open and the bridge promises on top is checked here, and that `schemas/events.json`
says so.
"""

from collections.abc import Collection, Sequence
from typing import Any, Final

from ag_ui.core import Event
from ag_ui_validate.pytest_plugin import validate_agui
from pydantic import TypeAdapter

from tests.support.shapes import check_event

__all__ = ["check_stream"]

_EVENT: Final[TypeAdapter[Any]] = TypeAdapter(Event)

_ADDED: Final = {"1.1": frozenset({"encryptedValueType"})}
"""What a stream of a later version may have, which the official Python types do not know yet."""

_BESIDE_A_QUESTION: Final = frozenset({"agui_bridge.refused", "on_interrupt"})
"""CUSTOM events that stand right before the question: why it is asked again, and itself."""

_AFTER_THE_END: Final = frozenset({"AGUI004", "AGUI005"})
"""A RUN_ERROR after RUN_FINISHED, which AG-UI 1.0 allows and the validator does not know."""

_NEVER_CLOSED: Final = frozenset({"AGUI003", "AGUI007", "AGUI103", "AGUI203", "AGUI204", "AGUI604"})
"""What a stream that its client cut off may lack."""


def check_stream(
    events: Sequence[dict[str, Any]], refused: bool = False, *, cut_off: bool = False
) -> None:
    """Assert that events are a complete and valid stream of one run.

    Args:
        events: The events as they were on the wire, in order.
        refused: Whether this is the restated shape of a refusal: RUN_FINISHED with the outcome
            that the thread has now, then RUN_ERROR.
        cut_off: Whether the client closed the connection before the end.
    """
    kinds = [event.get("type") for event in events]
    added = _ADDED.get(events[0].get("protocolVersion", ""), frozenset()) if events else frozenset()
    for number, event in enumerate(events):
        _check_shape(event, f"event {number} of {kinds}", added)
    allowed: Collection[str] = ()
    if refused:
        assert kinds[-2:] == ["RUN_FINISHED", "RUN_ERROR"], f"not a restated refusal: {kinds}"
        allowed = _AFTER_THE_END
    elif cut_off:
        allowed = _NEVER_CLOSED
    else:
        assert kinds[-1:] in (["RUN_FINISHED"], ["RUN_ERROR"]), f"no terminal event: {kinds}"
    report = validate_agui([_known_to_the_validator(event) for event in events])
    found = [
        f"{finding.rule} at event {finding.event_index}: {finding.message}"
        for finding in report.diagnostics
        if finding.severity == "error" and finding.rule not in allowed
    ]
    assert not found, "\n".join([*found, f"in {kinds}"])
    for number, event in enumerate(events):
        if event["type"] == "RUN_FINISHED" and _outcome(event) == "interrupt":
            last = number
            while last and events[last - 1].get("name") in _BESIDE_A_QUESTION:
                last -= 1
            before = kinds[max(0, last - 2) : last]
            assert before == ["STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"], (
                f"an interrupt outcome needs both snapshots right before it: {kinds}"
            )


def _known_to_the_validator(event: dict[str, Any]) -> dict[str, Any]:
    """An event without the parts of a tool's result, which AG-UI 1.0 allows; the types saw them."""
    parts = event.get("type") == "TOOL_CALL_RESULT" and isinstance(event.get("content"), list)
    return {**event, "content": "parts"} if parts else event


def _check_shape(event: dict[str, Any], where: str, added: frozenset[str]) -> None:
    parsed = _EVENT.validate_python(event)
    # The types let unknown members pass, and so misspelt ones.
    unknown = sorted((parsed.model_extra or {}).keys() - added)
    assert not unknown, f"unknown members {unknown} in {where}"
    nulls = [name for name, value in event.items() if value is None]
    assert not nulls, f"null instead of absent: {nulls} in {where}"
    check_event(event, where)


def _outcome(event: dict[str, Any]) -> str | None:
    outcome = event.get("outcome")
    return outcome["type"] if outcome is not None else None
